// The lines of history about a Node's conditions: how they are written, and how they are read. Decides nothing.

/** What of a condition the lines have. */
interface LineCondition {
  type: string;
  status: string;
  reason?: string | undefined;
  message?: string | undefined;
}

/** In place of a status: the Node has no such condition any more. */
export const GONE = "gone";
/** What a line ends with that is about somebody else's doing. */
export const BY_OTHERS = ", by somebody else";

/** `Ready: True → False (KubeletNotReady: node is shutting down)` */
export function transitions(before: readonly LineCondition[], after: readonly LineCondition[]): string[] {
  return after.flatMap(({ type, status, reason, message }) => {
    const was = before.find((condition) => condition.type === type)?.status;
    if (was === status) return [];
    return `${type}: ${was === undefined ? "" : `${was} → `}${status} (${reason ?? ""}: ${message ?? ""})`;
  });
}

/** `RaidDegraded: True → gone`, of conditions that nobody decides about any more. */
export function departures(before: readonly LineCondition[], after: readonly LineCondition[]): string[] {
  return before
    .filter(({ type }) => !after.some((condition) => condition.type === type))
    .map(({ type, status }) => `${type}: ${status} → ${GONE}`);
}

export function byOthers(text: string): string {
  return text + BY_OTHERS;
}

export interface ReadTransition {
  type: string;
  /** null: it had none. */
  from: string | null;
  /** GONE: it has none any more. */
  to: string;
  /** `KubeletNotReady: node is shutting down`; a long one is cut at its end. */
  text: string;
  /** Somebody else has set it: what the machine's reports decide is another matter. */
  isByOthers: boolean;
}

const TRANSITION = /^([^\s:]+): (?:(\w+) → )?(\w+)(?: \((.*))?$/s;

/** null: it is none. */
export function parseTransition(line: string): ReadTransition | null {
  const isByOthers = line.endsWith(`)${BY_OTHERS}`);
  const own = isByOthers ? line.slice(0, -BY_OTHERS.length) : line;
  const [, type, from = null, to, rest = ""] = TRANSITION.exec(own) ?? [];
  if (type === undefined || to === undefined) return null;
  // A condition may have neither a reason nor a message.
  const text = rest.replace(/\)$/, "").replace(/^: /, "").replace(/: $/, "");
  return { type, from, to, text, isByOthers };
}
