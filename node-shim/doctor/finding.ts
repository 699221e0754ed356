// Lists the checks of `node-shim doctor`, and formats their findings as text.

/**
 * The checks, in the order of their execution. `npm run generate` writes docs/shim.md from this table. A name in
 * angle brackets stands for several checks.
 */
export const CHECKS = {
  URL: ["the URL of the Worker, and where it is from", "there is none, or it is no URL"],
  proxy: [
    "the variables, and the way through [the proxy](#behind-a-proxy)",
    "it does not answer, refuses, or wants a name and password",
  ],
  "CA file": ["`--ca-file`", "it cannot be read, or has no certificate"],
  DNS: ["the Worker's name", "it has no address"],
  TLS: [
    "the Worker's certificate",
    "it has expired, expires within 14 days, is for another name, is not trusted",
  ],
  Worker: ["`GET /livez`", "no answer, or another one than `ok`"],
  clock: ["this machine's, by the Worker's `Date`", "more than 5 s off"],
  origin: [
    "whether the Worker accepts requests that are signed for the URL's origin; sent with a key that is not enrolled",
    "it does not, is not configured, or does not answer",
  ],
  WebSocket: [
    "whether the request that opens a [socket](#sockets) reaches the Worker; sent with a key that is not enrolled",
    "a proxy on the way blocks it",
  ],
  "join token": [
    "the one given, if any",
    "it is not of a token's form, or none is given and the machine is not enrolled",
  ],
  "state folder": ["the folder, and the files in it", "not writable, not trusted, open to others"],
  enrolment: ["key and enrolment", "damaged, another node's, not enrolled"],
  shim: [
    "[the status](#status) that the shim writes",
    "it does not run, hangs, is refused by the Worker, or its Node is not Ready",
  ],
  transport: [
    "how the shim reports",
    "there should be a socket, and there is none: the finding has the cause",
  ],
  version: [
    "the shim's version and the Worker's, as its last answer had it",
    "the shim is older: [upgrading shims](upgrading-shims.md)",
  ],
  node: ["the version of Node.js", "never"],
  configuration: ["the file and the flags", "it is refused, or has fields that are ignored"],
  "<source>": ["[the sources](operations.md#the-shims-log) of the machine's facts", "it cannot be read"],
  Node: ["the Node that this machine would have, offline", "a part of it cannot be decided"],
  "<condition>": ["its conditions", "a threshold is met already, NetworkUnavailable is True, not Ready"],
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
  const width = Math.max(...findings.map(({ check }) => check.length));
  return findings
    .map(({ check, level, message, todo }) => {
      const line = `${level.padEnd(4)}  ${check.padEnd(width)}  ${message}\n`;
      return todo === undefined ? line : `${line}${" ".repeat(width + 8)}→ ${todo}\n`;
    })
    .join("");
}
