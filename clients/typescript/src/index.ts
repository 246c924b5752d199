/**
 * The client of a Mnemic server.
 *
 * ```ts
 * const ana = new Mnemic({ url: "http://127.0.0.1:7700" }).forUser("ana");
 * await ana.remember("Ana prefers dark mode");
 * const hits = await ana.recall("What should the editor look like?");
 * ```
 */
import { Connection, type Scope, type Settings } from "./caller.js";
import { Verbs } from "./verbs.js";

export { Pages, type Progress, type ReportOptions, type RequestOptions, type Scope, type Settings, type Upload } from "./caller.js";
export * from "./errors.js";
export type { Found, Hits, ReadyContext } from "./results.js";
export * from "./verbs.js";

/** A server. Its verbs act for no user; `forUser` returns those of one. Sends no request before the first verb. */
export class Mnemic extends Verbs {
  constructor(settings: Settings = {}) {
    super(new Connection(settings), {});
  }

  /** The verbs for a user, and if you like an agent, a session, or an org. */
  forUser(user: string, more: Omit<Scope, "user"> = {}): ScopedMnemic {
    return this.forScope({ ...more, user });
  }

  /** The verbs for any scope, such as an agent alone. */
  forScope(scope: Scope): ScopedMnemic {
    return new ScopedMnemic(this.connection, scope);
  }
}

/** The verbs of a server for one user, agent, session, or several of them. */
export class ScopedMnemic extends Verbs {
  /** The same verbs within one conversation. */
  forSession(session: string): ScopedMnemic {
    return new ScopedMnemic(this.connection, { ...this.scope, session });
  }
}
