// Lists the checks of `node-shim doctor`, and formats their findings as text.
import { printable } from "../../shared/protocol/printable.ts";

/** The checks in order, for docs/shim.md too (`npm run generate`). A name in angle brackets is several checks. */
export const CHECKS = {
  URL: ["the Worker's URL and its source", "no URL is set, or the URL is invalid"],
  proxy: [
    "the proxy's variables, and the connection through [the proxy](#behind-a-proxy)",
    "the proxy does not answer, refuses the connection, or requires a name and password",
  ],
  "CA file": ["the file of `--ca-file`", "the file cannot be read, or contains no certificate"],
  DNS: ["the Worker's host name", "the name has no address"],
  TLS: [
    "the Worker's certificate",
    "the certificate has expired, expires within 14 days, is for another name, or is not trusted",
  ],
  Worker: ["the Worker's answer to `GET /livez`", "the Worker does not answer `ok`"],
  clock: [
    "this machine's clock, compared with the Worker's header `Date`",
    "the two clocks differ by more than 5 s",
  ],
  origin: [
    "a request that is signed for the URL's origin with a key that is not enrolled",
    "the Worker does not accept the origin, is not configured, or does not answer",
  ],
  WebSocket: [
    "a request that opens a [socket](#sockets), with a key that is not enrolled",
    "a proxy blocks the request",
  ],
  "join token": [
    "the given join token",
    "the token's form is invalid, or the machine has neither a token nor an enrolment",
  ],
  "state folder": [
    "the state folder and its files",
    "the folder is not writable, not trusted, or readable for other users",
  ],
  enrolment: [
    "the machine's key and enrolment",
    "key or enrolment is damaged, missing, or belongs to another name",
  ],
  shim: [
    "[the status](#status) that the shim writes",
    "the shim does not run, hangs, is refused by the Worker, or has a Node that is not Ready",
  ],
  transport: ["the transport of reports", "a socket should be open, but is not; the finding has the cause"],
  version: [
    "the shim's version and the version in the Worker's last answer",
    "the shim is older than the Worker ([upgrading shims](upgrading-shims.md))",
  ],
  node: ["the version of Node.js", "never"],
  configuration: [
    "the configuration file and the flags",
    "the shim refuses the configuration, or ignores some fields",
  ],
  "<source>": [
    "[each source](operations.md#sources) of the machine's facts",
    "the shim cannot read the source",
  ],
  Node: [
    "the Node that this machine would have, computed offline",
    "the shim cannot compute a part of the Node",
  ],
  "<condition>": [
    "the conditions of the Node that this machine would have",
    "a pressure's threshold is met, NetworkUnavailable is True, or Ready is not True",
  ],
} as const satisfies Record<string, readonly [checked: string, failsWhen: string]>;
type Check = keyof typeof CHECKS;

export interface Finding {
  /** The name of the check: "TLS", "clock" … */
  check: string;
  level: "ok" | "warn" | "fail";
  message: string;
  /** The remedy; absent if the level is "ok". */
  todo?: string;
}

export const ok = (check: Check, message: string): Finding => ({ check, level: "ok", message });
export const warn = (check: Check, message: string, todo: string): Finding => ({
  check,
  level: "warn",
  message,
  todo,
});
export const fail = (check: Check, message: string, todo: string): Finding => ({
  check,
  level: "fail",
  message,
  todo,
});

/** Returns one line for each finding, and a second line for its remedy. */
export function findingsText(findings: readonly Finding[]): string {
  return findingsLines(findings)
    .map((line) => `${line}\n`)
    .join("");
}

/** Returns the lines of the text. A foreign name in a finding, such as a process's, cannot make lines of its own. */
export function findingsLines(findings: readonly Finding[]): string[] {
  const width = Math.max(...findings.map(({ check }) => check.length));
  return findings.flatMap(({ check, level, message, todo }) => {
    const line = `${level.padEnd(4)}  ${check.padEnd(width)}  ${printable(message)}`;
    return todo === undefined ? line : [line, `${" ".repeat(width + 8)}→ ${printable(todo)}`];
  });
}
