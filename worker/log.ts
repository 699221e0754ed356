// Writes the Worker's log: lines of JSON without secrets. LOG_LINES has every message, and `npm run generate` writes
// docs/operations.md from it.
import type { CheckResult } from "../shared/deployment/check-result.ts";
import { type ApiError, apiErrorText } from "../shared/kubernetes/api-error.ts";
import type { MessageOf } from "../shared/message-of.ts";

/** Each message with its meaning and what to do. Words in capitals stand for values. */
export const LOG_LINES = {
  "Node OUTCOME": ["the Node was created, or one that existed is the deployment's again", "nothing"],
  "registration waits: REASON": [
    "the machine's facts are not enough for a Node, or there is none and it may not make one",
    "see the machine's phase: `rollcall node NAME`",
  ],
  "registration failed: STEP": [
    "the apiserver refused or did not answer that step; the next report tries again",
    "where it stays so: `rollcall status`",
  ],
  "the Node is lost: PHASE: REASON": [
    "the Node was deleted, or it is another writer's now",
    "[the phase](rollcall.md#states-phases-conditions) names who decides",
  ],
  "status not written": [
    "the apiserver refused or did not answer; the next report tries again",
    "where it stays so: `rollcall status`",
  ],
  "lease not renewed": ["the same, of the lease: the Node turns Unknown if it stays so", "the same"],
  "WHAT: another update in a row has failed, N so far": ["the same, counted", "the same"],
  "setters: ERRORS": [
    "a part of the status could not be decided; the others are",
    "a [setter of your own](custom-setters.md), or a report of a bug",
  ],
  "setters: well": ["that is over", "nothing"],
  "cluster token renewed": ["the Worker has another token for the apiserver, until `expires`", "nothing"],
  "cluster token not renewed": [
    "it is tried again until the token ends",
    "[the token and its end](cluster.md#the-token-and-its-end)",
  ],
  "no event about the cluster token": [
    "that event could not be written in `rollcall-system`; it is tried again",
    "apply `infra/rbac/rollcall.yaml` again, if it was applied by an older version",
  ],
  "the registry does not answer": [
    "changes of Nodes wait, and are sent later",
    "nothing, unless it stays so: `rollcall ready`",
  ],
  "not told of a change of its Node": ["a machine's object did not answer; it is notified again", "the same"],
  "not told that its socket ended": ["the same; its gateway notifies it again", "the same"],
  "a frame failed": [
    "a gateway could not handle what a machine sent; the machine reports again",
    "where it stays so, a report of a bug",
  ],
  "a report has no answer": [
    "a machine's object did not answer its gateway; the machine continues by HTTP",
    "the same",
  ],
  "the watch of a gateway failed": ["the next check comes within a minute", "the same"],
  "the fleet index was not told": [
    "lists may be behind for this machine, until the next change arrives",
    "nothing, unless it stays so: `rollcall status`",
  ],
  "a duty of the fleet index failed": ["`duty` is tried again", "the same"],
  "the rollout has stopped": [
    "no other machine is given the version; `reason` has the cause",
    "`rollcall rollout show`",
  ],
  "no answer about an upgrade": [
    "a machine asked whether to upgrade, and the fleet index did not answer; it asks again",
    "nothing, unless it stays so: `rollcall status`",
  ],
  "alarm of the cluster failed": [
    "a bug: the cluster object's alarm is set again",
    "a report of a bug, with the line",
  ],
  "request failed": [
    "a bug: the request was answered `500 internal`; `error` has where",
    "a report of a bug, with the line",
  ],
  "alarm failed": ["the same, in an alarm of that machine's object, which is set again", "the same"],
  "events wait": [
    "events are not written yet; they wait for the next report or alarm",
    "where it stays so: `rollcall status`",
  ],
  "events failed": [
    "an event was not written; it waits for the next report or alarm",
    "where it stays so: `rollcall status`",
  ],
  "removal failed": [
    "a machine's Node and lease are to be removed, and were not; it is tried again",
    "the same",
  ],
  left: ["the machine has left: its Node and lease are gone", "nothing"],
  "has not left yet": [
    "Node or lease could not be removed; it is tried again",
    "where it stays so: `rollcall status`",
  ],
  "forgotten by an operator": ["an operator has removed the machine: its Node and lease are gone", "nothing"],
  "not forgotten yet": [
    "Node or lease could not be removed; it is tried again",
    "where it stays so: `rollcall status`",
  ],
  "its Node was removed: silent": ["the machine was silent for too long: Node and lease are gone", "nothing"],
  "its Node is not removed yet": [
    "Node or lease could not be removed; it is tried again",
    "where it stays so: `rollcall status`",
  ],
  "enrolment refused: CAUSE, token ID": [
    "a machine asked for a name and was refused",
    "`rollcall audit --refused` shows more",
  ],
  "a turn of a bulk failed": [
    "an action on many machines stopped for a while, and continues",
    "`rollcall bulk` shows how far it is",
  ],
  "the registry was not told": [
    "the registry does not know yet that a machine still has its name; it is notified again",
    "nothing, unless it stays so: `rollcall ready`",
  ],
  "a gateway was not cared for": [
    "the cron trigger did not reach it; the next one, a minute later, tries again",
    "the same",
  ],
  "the feeds could not be told": ["open pages are behind, until the next change", "the same"],
  "CHECK: MESSAGE": [
    "the result of `rollcall ready` for a check that fails, with `cure`",
    "what `cure` names",
  ],
  "fleet index: TEXT": ["what it does about a difference to the registry", "nothing"],
  "Access assertion refused": [
    "a request came through Cloudflare Access, and its assertion is not right",
    "check `ACCESS_TEAM` and `ACCESS_AUD` ([settings](deploy.md#settings)) if operators are refused",
  ],
} as const satisfies Record<string, readonly [means: string, todo: string]>;

/** Any message but that of a check: `logConfiguration` writes those. */
export type LogMessage = MessageOf<Exclude<keyof typeof LOG_LINES, "CHECK: MESSAGE">>;

interface LogLine {
  message: LogMessage;
  /** The machine's name, the error, and other values. */
  [value: string]: unknown;
}
export type Log = (line: LogLine) => void;

/** Logs one line of JSON. */
export const logNote: Log = (line) => console.log(JSON.stringify(line));
/** Logs the line as an error. */
export const logFailure: Log = (line) => console.error(JSON.stringify(line));

/** Logs a line about the watch of the Nodes. `rollcall cluster` shows it, so LOG_LINES does not have it. */
export function logClusterLine(message: string): void {
  console.log(JSON.stringify({ message }));
}

/** Logs a line about one machine. */
export type MachineLog = (message: LogMessage, error?: ApiError) => void;

/** The log has the whole error; the machine's answer has only a phase. */
export function machineLog(name: string): MachineLog {
  return (message, error) => logNote({ node: name, message, ...(error && { error: apiErrorText(error) }) });
}

/** Logs each failed check of the configuration, at the first request to an isolate. */
export function logConfiguration(findings: readonly CheckResult[]): void {
  for (const { check, state, message, cure } of findings)
    if (state !== "ok") console.error(JSON.stringify({ message: `${check}: ${message}`, cure }));
}
