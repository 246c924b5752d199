// What this tab knows: the key, whose memory is looked at, and who the server says is asking. Gone when the tab closes.

const KEY = "mnemic.key";
const SCOPE = "mnemic.scope";
export const PARTS = ["user", "agent", "session"];

/** Who asks, as `/console/caller` says; null until it answered. */
export let caller = null;

export function setCaller(told) {
  caller = told;
}

export function key() {
  return sessionStorage.getItem(KEY);
}

export function setKey(value) {
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
}

/** The chosen user, agent and session; a part that is not chosen is not there. What the key is bound to is chosen. */
export function scope() {
  const chosen = JSON.parse(sessionStorage.getItem(SCOPE) ?? "{}");
  for (const part of PARTS) if (caller?.[part]) chosen[part] = caller[part];
  return Object.fromEntries(PARTS.filter((part) => chosen[part]).map((part) => [part, chosen[part]]));
}

/** True when no user, agent or session is chosen. */
export function isNobody() {
  return Object.keys(scope()).length === 0;
}

export function setScope(chosen) {
  sessionStorage.setItem(SCOPE, JSON.stringify(chosen));
}

/** The levels that a key may change as a whole: one for a user does not touch what all users of an agent share. Undefined: the server's own choice. */
export function ownLevels() {
  return caller?.is_bound && caller.user ? ["session", "user"] : undefined;
}

/** True when the key has a right: read, write or admin. */
export function may(right) {
  return caller?.rights.includes(right) ?? false;
}
