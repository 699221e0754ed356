// Writes the Worker's log as lines of JSON without secrets. `npm run generate` writes docs/operations.md from it.
import type { CheckResult } from "../shared/deployment/check-result.ts";
import { type ApiError, apiErrorText } from "../shared/kubernetes/api-error.ts";
import type { MessageOf } from "../shared/message-of.ts";

/** Each message of the log, with its meaning and the remedy. Words in capitals stand for values. */
export const LOG_LINES = {
  "Node OUTCOME": [
    "the Worker created the machine's Node, or adopted an existing one",
    "no remedy is necessary",
  ],
  "registration waits: REASON": [
    "the machine's facts are incomplete, or the machine has no Node and `registerNode` is false",
    "check the machine's phase: `rollcall node NAME`",
  ],
  "registration failed: STEP": [
    "the apiserver refused STEP or did not answer; the Worker retries with the next report",
    "if the line repeats, run `rollcall status`",
  ],
  "the Node is lost: PHASE: REASON": [
    "the Node was deleted, or has another owner",
    "check the meaning of PHASE in [the phases](rollcall.md#states-phases-conditions)",
  ],
  "NodeFeature not written": [
    "the apiserver did not accept the features of a machine; the Worker retries after a minute, and later half-hourly",
    "install node-feature-discovery, apply `infra/rbac/node-features.yaml`, or set `FEATURES` to another value",
  ],
  "status not written": [
    "the apiserver refused the Node's status or did not answer; the Worker retries with the next report",
    "if the line repeats, run `rollcall status`",
  ],
  "lease not renewed": [
    "the apiserver refused the lease or did not answer; if this persists, the Node's conditions become Unknown",
    "if the line repeats, run `rollcall status`",
  ],
  "WHAT: another update in a row has failed, N so far": [
    "N writes of a lease or a status in a row have failed",
    "if the line repeats, run `rollcall status`",
  ],
  "setters: ERRORS": [
    "some setters failed; the Worker wrote the results of the other setters",
    "correct [your own setter](custom-setters.md); otherwise report a bug",
  ],
  "setters: well": ["all setters succeed again", "no remedy is necessary"],
  "cluster token renewed": [
    "the Worker has a new token for the apiserver, valid until `expires`",
    "no remedy is necessary",
  ],
  "cluster token not renewed": [
    "the apiserver gave no new token; the Worker retries until the present token expires",
    "follow [the token and its end](cluster.md#the-token-and-its-end)",
  ],
  "no event about the cluster token": [
    "the Worker could not write the event about its token in `rollcall-system`, and retries",
    "if you applied an older `infra/rbac/rollcall.yaml`, apply the present one",
  ],
  "the registry does not answer": [
    "the cluster object stores changes of Nodes, and sends them when the registry answers again",
    "if the line repeats, run `rollcall ready`",
  ],
  "leases are not listed": [
    "the apiserver refused the list of leases or did not answer; silence without a socket is noticed within minutes",
    "apply the present `infra/rbac/rollcall.yaml`",
  ],
  "not told that its lease expired": [
    "a machine's object did not answer the cluster object, which notifies it again",
    "if the line repeats, run `rollcall ready`",
  ],
  "not told of a change of its Node": [
    "a machine's object did not answer the cluster object, which notifies it again",
    "if the line repeats, run `rollcall ready`",
  ],
  "not told that its socket ended": [
    "a machine's object did not answer its gateway, which notifies it again",
    "if the line repeats, run `rollcall ready`",
  ],
  "a frame failed": [
    "a gateway could not handle a machine's frame; the machine sends a report instead",
    "if the line repeats, report a bug",
  ],
  "a question was not sent": [
    "a gateway did not take an operator's question, as during a deployment; the operator gets `busy`",
    "if the line repeats, report a bug",
  ],
  "the end of an answer is not in the audit log": [
    "the registry did not answer; the question itself is in the audit log",
    "if the line repeats, run `rollcall ready`",
  ],
  "a report has no answer": [
    "a machine's object did not answer its gateway; the machine reports over HTTP",
    "if the line repeats, report a bug",
  ],
  "usage is not sent": [
    "the receiver of `USAGE_OTLP_URL` refused a request or did not answer; `error` has the status or the reason",
    "check `USAGE_OTLP_URL` ([settings](deploy.md#settings)) and the receiver's log",
  ],
  "the watch of a gateway failed": [
    "a gateway could not check its sockets for silence; the next check comes within a minute",
    "if the line repeats, report a bug",
  ],
  "the fleet index was not told": [
    "the fleet index did not answer a machine's object; lists show the machine's former state until its next change",
    "if the line repeats, run `rollcall status`",
  ],
  "a duty of the fleet index failed": [
    "the fleet index could not do the periodic work that `duty` names, and retries",
    "if the line repeats, run `rollcall status`",
  ],
  "the rollout has stopped": [
    "no further machine gets the rollout's version; `reason` has the cause",
    "`rollcall rollout show`",
  ],
  "no answer about an upgrade": [
    "the fleet index did not answer a machine's question about an upgrade; the machine asks again",
    "if the line repeats, run `rollcall status`",
  ],
  "alarm of the cluster failed": [
    "a bug in the cluster object's alarm, which runs again later",
    "report a bug, with the line",
  ],
  "request failed": [
    "a bug: the Worker answered `500 internal`; `error` names the place in the code",
    "report a bug, with the line",
  ],
  "alarm failed": [
    "a bug in the alarm of a machine's object, which runs again later",
    "report a bug, with the line",
  ],
  "events wait": [
    "the apiserver did not accept some events yet; the Worker retries with the next report or alarm",
    "if the line repeats, run `rollcall status`",
  ],
  "events failed": [
    "the apiserver refused an event or did not answer; the Worker retries with the next report or alarm",
    "if the line repeats, run `rollcall status`",
  ],
  "removal failed": [
    "the Worker could not remove a machine's Node and lease, and retries",
    "if the line repeats, run `rollcall status`",
  ],
  left: [
    "after `node-shim leave` the Worker has removed the machine's Node and lease",
    "no remedy is necessary",
  ],
  "has not left yet": [
    "the Worker could not remove the Node or lease of a leaving machine, and retries",
    "if the line repeats, run `rollcall status`",
  ],
  "forgotten by an operator": [
    "after `rollcall forget` the Worker has removed the machine's Node and lease",
    "no remedy is necessary",
  ],
  "not forgotten yet": [
    "the Worker could not remove the Node or lease of a forgotten machine, and retries",
    "if the line repeats, run `rollcall status`",
  ],
  "its Node was removed: silent": [
    "the Worker has removed Node and lease of a machine that was silent for too long",
    "no remedy is necessary",
  ],
  "its Node is not removed yet": [
    "the Worker could not remove the Node or lease of a silent machine, and retries",
    "if the line repeats, run `rollcall status`",
  ],
  "enrolment refused: CAUSE, token ID": [
    "the registry refused a machine's enrolment",
    "`rollcall audit --refused` shows the machine's address",
  ],
  "a stranded pod was failed": [
    "`pod` was bound to a Node without a kubelet; the Worker set its phase to Failed",
    "run the pod on another Node ([pending pods](pending-pods.md))",
  ],
  "a stranded pod was removed": [
    "`pod` was deleted while it was bound to a Node without a kubelet; the Worker confirmed its end",
    "no remedy is necessary",
  ],
  "a stranded pod stays": [
    "the apiserver refused the change of `pod` or did not answer; the Worker retries within minutes",
    "apply the present `infra/rbac/pods.yaml`",
  ],
  "stranded pods are not watched": [
    "the apiserver refused the watch of Pending pods or did not answer; the Worker retries within minutes",
    "apply `infra/rbac/pods.yaml`, or set `FAIL_STRANDED_PODS` to off",
  ],
  "a transaction failed": [
    "a Durable Object ended after a failed write, because its memory may be ahead of its rows; the next call starts it again",
    "the line's `error`; a full or failing storage shows in Cloudflare's status",
  ],
  "a turn of a bulk failed": [
    "an action on many machines paused after an error, and continues",
    "`rollcall bulk` shows its progress",
  ],
  "the rules were not evaluated": [
    "the registry did not answer a machine's object, so its Node keeps the former result of rules; the Worker retries with a later report",
    "if the line repeats, run `rollcall ready`",
  ],
  "an object of the rules is not understood": [
    "a later Worker has stored a NodeFeatureRule with a field that this Worker does not know; the object counts as absent",
    "deploy the later Worker again, or apply the object without this field",
  ],
  "the object did not follow the rules": [
    "a machine's object did not answer the registry, which brings new rules to all machines; the object follows within a day",
    "if the line repeats, run `rollcall ready`",
  ],
  "the taints of rules are not written": [
    "the apiserver refuses a change of a Node's taints; the Worker retries after an hour",
    "[allow it](node-feature-discovery.md#what-a-machine-gets) by the annotation `rollcall.dev/rule-taints`, or remove the taints from the rules",
  ],
  "the registry was not told": [
    "the registry did not answer a machine's object or a gateway, which notifies it again",
    "if the line repeats, run `rollcall ready`",
  ],
  "a gateway was not cared for": [
    "the cron trigger did not reach a gateway; the next trigger, a minute later, calls it again",
    "if the line repeats, run `rollcall ready`",
  ],
  "the feeds could not be checked": [
    "the fleet index did not answer after the end of a session or secret; its open pages end with their next message, a minute later at most",
    "if the line repeats, run `rollcall ready`",
  ],
  "the feeds could not be told": [
    "the fleet index did not answer; open pages show former states until the next change",
    "if the line repeats, run `rollcall ready`",
  ],
  "CHECK: MESSAGE": [
    "a check of `rollcall ready` failed; `cure` has the remedy",
    "apply the remedy in `cure`",
  ],
  "fleet index: TEXT": [
    "the fleet index differed from the registry, and corrected the difference that TEXT names",
    "no remedy is necessary",
  ],
  "Access assertion refused": [
    "a request came through Cloudflare Access with an invalid assertion",
    "if operators are refused, check `ACCESS_TEAM` and `ACCESS_AUD` ([settings](deploy.md#settings))",
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

/** Returns a function that logs one machine's lines. The log has the whole error; the machine's answer only a phase. */
export function machineLog(name: string): MachineLog {
  return (message, error) => logNote({ node: name, message, ...(error && { error: apiErrorText(error) }) });
}

/** Logs each failed check of the configuration, at the first request to an isolate. */
export function logConfiguration(findings: readonly CheckResult[]): void {
  for (const { check, state, message, cure } of findings)
    if (state !== "ok") console.error(JSON.stringify({ message: `${check}: ${message}`, cure }));
}
