// Writes the Worker's log: lines of JSON without secrets. LOG_LINES has every message, and `npm run generate` writes
// docs/operations.md from it.
import type { CheckResult } from "../shared/deployment/check-result.ts";
import { type ApiError, apiErrorText } from "../shared/kubernetes/api-error.ts";
import type { MessageOf } from "../shared/message-of.ts";

/** Each message of the log, with its meaning and the remedy. Words in capitals stand for values. */
export const LOG_LINES = {
  "Node OUTCOME": ["the Worker created the Node, or took an existing one over again", "nothing"],
  "registration waits: REASON": [
    "the machine's facts are incomplete, or it has no Node and may not create one",
    "check the machine's phase: `rollcall node NAME`",
  ],
  "registration failed: STEP": [
    "the apiserver refused or did not answer that step; the next report tries again",
    "if it persists: `rollcall status`",
  ],
  "the Node is lost: PHASE: REASON": [
    "the Node was deleted, or another writer took it",
    "[the phase](rollcall.md#states-phases-conditions) explains the decision",
  ],
  "status not written": [
    "the apiserver refused or did not answer; the next report tries again",
    "if it persists: `rollcall status`",
  ],
  "lease not renewed": ["the same, of the lease: the Node becomes Unknown if it persists", "the same"],
  "WHAT: another update in a row has failed, N so far": ["the same, counted", "the same"],
  "setters: ERRORS": [
    "some setters failed; the others succeeded",
    "a [setter of your own](custom-setters.md), or report a bug",
  ],
  "setters: well": ["the fault is over", "nothing"],
  "cluster token renewed": ["the Worker has another token for the apiserver, until `expires`", "nothing"],
  "cluster token not renewed": [
    "the Worker retries until the token expires",
    "[the token and its end](cluster.md#the-token-and-its-end)",
  ],
  "no event about the cluster token": [
    "the Worker could not write that event in `rollcall-system`, and retries",
    "apply `infra/rbac/rollcall.yaml` again, if an older version applied it",
  ],
  "the registry does not answer": [
    "changes of Nodes wait, and are sent later",
    "nothing, unless it persists: `rollcall ready`",
  ],
  "not told of a change of its Node": ["a machine's object did not answer; it is notified again", "the same"],
  "not told that its socket ended": ["the same; its gateway notifies it again", "the same"],
  "a frame failed": [
    "a gateway could not handle a machine's frame; the machine reports again",
    "if it persists, report a bug",
  ],
  "a report has no answer": [
    "a machine's object did not answer its gateway; the machine continues over HTTP",
    "the same",
  ],
  "the watch of a gateway failed": ["the next check comes within a minute", "the same"],
  "the fleet index was not told": [
    "lists may be out of date for this machine until its next change",
    "nothing, unless it persists: `rollcall status`",
  ],
  "a duty of the fleet index failed": ["`duty` is tried again", "the same"],
  "the rollout has stopped": [
    "no further machine gets the version; `reason` has the cause",
    "`rollcall rollout show`",
  ],
  "no answer about an upgrade": [
    "a machine asked whether to upgrade, and the fleet index did not answer; it asks again",
    "nothing, unless it persists: `rollcall status`",
  ],
  "alarm of the cluster failed": [
    "a bug: the cluster object's alarm is set again",
    "report a bug, with the line",
  ],
  "request failed": [
    "a bug: the answer was `500 internal`; `error` has the place",
    "report a bug, with the line",
  ],
  "alarm failed": ["the same, in an alarm of the machine's object, which is set again", "the same"],
  "events wait": [
    "events are not written yet; they wait for the next report or alarm",
    "if it persists: `rollcall status`",
  ],
  "events failed": [
    "an event was not written; it waits for the next report or alarm",
    "if it persists: `rollcall status`",
  ],
  "removal failed": ["the Worker could not remove a machine's Node and lease, and retries", "the same"],
  left: ["the machine has left: its Node and lease are gone", "nothing"],
  "has not left yet": [
    "the Worker could not remove Node or lease, and retries",
    "if it persists: `rollcall status`",
  ],
  "forgotten by an operator": ["an operator has removed the machine: its Node and lease are gone", "nothing"],
  "not forgotten yet": [
    "the Worker could not remove Node or lease, and retries",
    "if it persists: `rollcall status`",
  ],
  "its Node was removed: silent": ["the machine was silent for too long: Node and lease are gone", "nothing"],
  "its Node is not removed yet": [
    "the Worker could not remove Node or lease, and retries",
    "if it persists: `rollcall status`",
  ],
  "enrolment refused: CAUSE, token ID": [
    "a machine asked for a name and was refused",
    "`rollcall audit --refused` shows more",
  ],
  "a turn of a bulk failed": [
    "an action on many machines stopped for a while, and continues",
    "`rollcall bulk` shows its progress",
  ],
  "the registry was not told": [
    "the registry has not got the notice that a machine still has its name; it is notified again",
    "nothing, unless it persists: `rollcall ready`",
  ],
  "a gateway was not cared for": [
    "the cron trigger did not reach the gateway; the next one tries again after a minute",
    "the same",
  ],
  "the feeds could not be told": ["open pages are out of date until the next change", "the same"],
  "CHECK: MESSAGE": ["the result of a failed check of `rollcall ready`, with `cure`", "the remedy in `cure`"],
  "fleet index: TEXT": ["its reaction to a difference from the registry", "nothing"],
  "Access assertion refused": [
    "a request came through Cloudflare Access with an invalid assertion",
    "check `ACCESS_TEAM` and `ACCESS_AUD` ([settings](deploy.md#settings)) if operators are refused",
  ],
} as const satisfies Record<string, readonly [means: string, todo: string]>;

/** Any message except those of checks, which `logConfiguration` writes. */
export type LogMessage = MessageOf<Exclude<keyof typeof LOG_LINES, "CHECK: MESSAGE">>;

interface LogLine {
  message: LogMessage;
  /** Further values of the line, such as the machine's name or the error. */
  [value: string]: unknown;
}
export type Log = (line: LogLine) => void;

/** Logs one line of JSON. */
export const logNote: Log = (line) => console.log(JSON.stringify(line));
/** Logs the line as an error. */
export const logFailure: Log = (line) => console.error(JSON.stringify(line));

/** Logs a line about the watch of the Nodes. LOG_LINES lacks these lines, since `rollcall cluster` shows them. */
export function logClusterLine(message: string): void {
  console.log(JSON.stringify({ message }));
}

/** Logs a line about one machine. */
export type MachineLog = (message: LogMessage, error?: ApiError) => void;

/**
 * Returns a function that logs lines about one machine. The log contains the whole error; the machine's answer only
 * a phase.
 */
export function machineLog(name: string): MachineLog {
  return (message, error) => logNote({ node: name, message, ...(error && { error: apiErrorText(error) }) });
}

/** Logs each failed check of the configuration, at the first request to an isolate. */
export function logConfiguration(findings: readonly CheckResult[]): void {
  for (const { check, state, message, cure } of findings)
    if (state !== "ok") console.error(JSON.stringify({ message: `${check}: ${message}`, cure }));
}
