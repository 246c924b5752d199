import type { Problem, ProblemKind } from "./verbs.js";

/** What is known of a failure beside its message. */
export interface Details {
  /** The HTTP status; absent if the server did not answer. */
  status?: number | undefined;
  /** The server's problem (RFC 9457); absent if it sent none. */
  problem?: Partial<Problem> | undefined;
  retryAfterS?: number | undefined;
  cause?: unknown;
}

/** Base class of all errors of this client, except for an `AbortSignal`'s own reason. */
export class MnemicError extends Error {
  override readonly name: string = "MnemicError";
  /** What kind of problem it is, such as "not_found". */
  readonly kind: string;
  /** The HTTP status; undefined if the server did not answer. */
  readonly status: number | undefined;
  /** What to do. */
  readonly hint: string;
  /** Where the request is wrong, if it is. */
  readonly errors: readonly Record<string, string>[];

  constructor(message: string, details: Details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kindOf(details.problem);
    this.status = details.status;
    this.hint = details.problem?.hint ?? "";
    this.errors = details.problem?.errors ?? [];
  }
}

/** An argument is invalid. Nothing was stored. `errors` locates the mistakes. */
export class InvalidInputError extends MnemicError {
  override readonly name = "InvalidInputError";
}

/** Nothing with this id exists in the scope. Things of other users give the same error. */
export class NotFoundError extends MnemicError {
  override readonly name = "NotFoundError";
}

/** It already exists, or someone else changed it meanwhile. */
export class ConflictError extends MnemicError {
  override readonly name = "ConflictError";
}

/** The server cannot do this as it is set up, or is older than this client. */
export class UnsupportedError extends MnemicError {
  override readonly name = "UnsupportedError";
}

/** The API key is missing, unknown, expired or revoked. */
export class UnauthorisedError extends MnemicError {
  override readonly name = "UnauthorisedError";
}

/** The API key lacks the right, or is restricted to another org, user or agent. */
export class ForbiddenError extends MnemicError {
  override readonly name = "ForbiddenError";
}

/** The server's configuration is wrong or incomplete, or this client's. */
export class ConfigError extends MnemicError {
  override readonly name = "ConfigError";
}

/** The server, or something that it uses, failed. */
export class BackendError extends MnemicError {
  override readonly name: string = "BackendError";
}

/** The server, or something that it uses, is not responding. Trying again may help. */
export class UnavailableError extends BackendError {
  override readonly name = "UnavailableError";
}

/** Too many requests. `retryAfterS` is how long to wait, if it is known. */
export class RateLimitedError extends BackendError {
  override readonly name = "RateLimitedError";
  readonly retryAfterS: number | undefined;

  constructor(message: string, details: Details = {}) {
    super(message, details);
    this.retryAfterS = details.retryAfterS;
  }
}

/** No answer within the time limit. */
export class TimedOutError extends BackendError {
  override readonly name = "TimedOutError";
}

/** The answer is not what a Mnemic server sends. */
export class BadReplyError extends BackendError {
  override readonly name = "BadReplyError";
}

/** The server's store is lost or damaged. */
export class DamagedError extends BackendError {
  override readonly name = "DamagedError";
}

const BY_KIND: Record<ProblemKind, typeof MnemicError> = {
  mnemic: MnemicError,
  invalid_input: InvalidInputError,
  not_found: NotFoundError,
  conflict: ConflictError,
  unsupported: UnsupportedError,
  unauthorised: UnauthorisedError,
  forbidden: ForbiddenError,
  config: ConfigError,
  backend: BackendError,
  unavailable: UnavailableError,
  rate_limited: RateLimitedError,
  timed_out: TimedOutError,
  bad_reply: BadReplyError,
  damaged: DamagedError,
};

const BY_STATUS: Record<number, typeof MnemicError> = {
  400: InvalidInputError,
  401: UnauthorisedError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  413: InvalidInputError,
  422: InvalidInputError,
  429: RateLimitedError,
  500: BackendError,
  501: UnsupportedError,
  503: UnavailableError,
};

const PREFIX = "urn:mnemic:problem:";

/** The end of a problem's type. */
function kindOf(problem: Partial<Problem> | undefined): string {
  return (problem?.type ?? "").replace(PREFIX, "");
}

/** The error of a response. Its class comes from the problem's type, else from the status. */
export function problemError(status: number, body: unknown, retryAfter: string | null = null): MnemicError {
  const problem: Partial<Problem> = typeof body === "object" && body !== null ? body : {};
  const kind = kindOf(problem);
  const retryAfterS = retryAfter !== null && /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined;
  const details = { status, problem, retryAfterS };
  if (kind === "no_route" || kind === "no_method") {
    return new UnsupportedError("the server does not support this; upgrade it to this client's version", details);
  }
  const found = Object.hasOwn(BY_KIND, kind) ? BY_KIND[kind as ProblemKind] : (BY_STATUS[status] ?? BadReplyError);
  return new found(problem.detail || problem.title || `the server answered ${status}`, details);
}
