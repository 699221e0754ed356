// Lists the diagnoses of a machine's shim with remedies: the one table for `status`, `join`, `doctor`, docs/shim.md.
import type { Phase } from "../../shared/protocol/answers.ts";
import { UNIT_NAME } from "../service/unit.ts";

/** A diagnosis: a phase of the Worker, or a state that only the machine itself knows. */
export type Kind =
  | Exclude<Phase, "registered">
  | "Ready"
  | "no socket"
  | "not Ready"
  | "unreachable"
  | "refused"
  | "not served"
  | "Worker not configured"
  | "wrong origin"
  | "too large"
  | "starting"
  | "hangs"
  | "status unknown"
  | "ended"
  | "not running"
  | "not enrolled";

/** The exit codes, for scripts; docs/shim.md lists them. Every command exits with 2 for a wrong command line. */
export const EXIT = { ready: 0, fault: 1, notRunning: 3, noAnswer: 4, notReady: 5 } as const;
export type DiagnosisCode = (typeof EXIT)[keyof typeof EXIT];

export interface Entry {
  /** The text that follows the Node's name. */
  says: string;
  /** The remedy; "" if there is nothing to do. */
  cure: string;
  exitCode: DiagnosisCode;
  /** true if the state may pass by itself within seconds. */
  passes?: true;
}

/** The unit's name as operators type it, without .service. */
export const UNIT = UNIT_NAME.replace(/\.service$/, "");
const NOT_HERE = "this machine needs no action, and continues to report:";

export const DIAGNOSES: Readonly<Record<Kind, Entry>> = {
  Ready: { says: "is Ready", cure: "", exitCode: EXIT.ready },
  "no socket": {
    says: "is Ready, and reports by HTTP although --transport socket asks for a socket",
    cure: "make the proxy forward WebSockets to the Worker, or pass --transport auto: over HTTP the Node is as complete",
    exitCode: EXIT.fault,
  },
  "not Ready": {
    says: "is not Ready",
    cure: "fix the fault that the message names; `node-shim doctor` checks the whole machine",
    exitCode: EXIT.notReady,
    passes: true,
  },
  registering: {
    says: "is being registered",
    cure: "wait; if this persists, the message names the missing part",
    exitCode: EXIT.notReady,
    passes: true,
  },
  "waiting for Node": {
    says: "has no Node, and registerNode is false",
    cure: "create the Node, or set registerNode: true",
    exitCode: EXIT.notReady,
  },
  "facts refused": {
    says: "has no Node: the Worker refuses this machine's facts",
    cure: "correct the fact that the message names; `node-shim facts` shows its source",
    exitCode: EXIT.notReady,
  },
  "setup failed": {
    says: "could not be set up",
    cure: "correct the fault that the message names, and start the shim again",
    exitCode: EXIT.notReady,
  },
  cloned: {
    says: "is cloned: several machines report with its key, and the Worker ignores all of them",
    cure: "give each copy an empty state folder and a join token; then an operator runs rollcall trust NAME",
    exitCode: EXIT.notReady,
  },
  "two shims": {
    says: "has two shims on one machine, and the Worker accepts one of them",
    cure: `stop the others: systemctl status ${UNIT} and pgrep -af node-shim show them`,
    exitCode: EXIT.notReady,
  },
  "name taken": {
    says: "is a name that another Node or another writer has",
    cure: "rename this machine (--hostname-override), or ask an operator to hand the Node over",
    exitCode: EXIT.notReady,
  },
  "node deleted": {
    says: "has no Node: it was deleted",
    cure: "start the shim again, or ask an operator to run rollcall node register NAME; if the message has a time, the Worker restores the Node then",
    exitCode: EXIT.notReady,
  },
  "apiserver unreachable": {
    says: "waits for the apiserver, which the Worker cannot reach",
    cure: `${NOT_HERE} an operator repairs the apiserver`,
    exitCode: EXIT.notReady,
    passes: true,
  },
  "apiserver refuses": {
    says: "is refused by the apiserver",
    cure: `${NOT_HERE} an operator checks the rights and the token of the Worker`,
    exitCode: EXIT.notReady,
  },
  "apiserver not configured": {
    says: "waits for a cluster: none is configured in the Worker",
    cure: `${NOT_HERE} an operator configures the Worker's cluster`,
    exitCode: EXIT.notReady,
  },
  unreachable: {
    says: "gets no answer from the Worker",
    cure: "`node-shim doctor` finds the failed step: URL, DNS, TLS, Worker",
    exitCode: EXIT.noAnswer,
    passes: true,
  },
  refused: {
    says: "is refused by the Worker",
    cure: "ask an operator whether the key was revoked or replaced; a new enrolment needs a join token",
    exitCode: EXIT.noAnswer,
  },
  "not served": {
    says: "is not served by the Worker now",
    cure: "wait; if this persists, the Worker's log shows the cause to an operator",
    exitCode: EXIT.noAnswer,
    passes: true,
  },
  "Worker not configured": {
    says: "is not served: the Worker is not configured",
    cure: `${NOT_HERE} to an operator, rollcall ready shows the missing part`,
    exitCode: EXIT.noAnswer,
  },
  "wrong origin": {
    says: "signs for an origin that the Worker does not have",
    cure: "pass the --url of the other machines, or ask an operator to add this URL to ORIGINS",
    exitCode: EXIT.noAnswer,
  },
  "too large": {
    says: "has a report that is too large for the Worker, or for a proxy before the Worker",
    cure: "set nodeStatusMaxImages, and report fewer or shorter facts of drop-ins; `node-shim facts` shows all facts",
    exitCode: EXIT.noAnswer,
  },
  starting: {
    says: "has a shim that has not reported yet",
    cure: "wait; if this persists, the message names the cause",
    exitCode: EXIT.noAnswer,
    passes: true,
  },
  hangs: {
    says: "has a shim that has stopped reporting, although it runs",
    cure: `journalctl -u ${UNIT} may show the cause; then systemctl restart ${UNIT}`,
    exitCode: EXIT.notRunning,
  },
  "status unknown": {
    says: "has no recent status, since its state folder cannot be written",
    cure: `free space and inodes there, or make the file system writable; a shim that runs still reports: journalctl -u ${UNIT}`,
    exitCode: EXIT.fault,
  },
  ended: {
    says: "has a shim that has ended",
    cure: "correct the fault that the message names, and start the shim again",
    exitCode: EXIT.notRunning,
    passes: true,
  },
  "not running": {
    says: "has no shim that runs",
    cure: `with an installed service: systemctl start ${UNIT} (journalctl -u ${UNIT} shows why it ended); otherwise node-shim install-service, or node-shim run`,
    exitCode: EXIT.notRunning,
    passes: true,
  },
  "not enrolled": {
    says: "is not enrolled",
    cure: "node-shim join --url https://HOST --join-token-file FILE --install-service",
    exitCode: EXIT.fault,
  },
};

const WITHOUT_RUNTIME = 'containerRuntimeEndpoint: "" in the configuration';

/** The remedy for a Ready condition that is not True, by the condition's source. */
export const NOT_READY_CURES: Readonly<Record<string, Pick<Entry, "cure" | "passes">>> = {
  runtime: {
    cure: `start the container runtime; on a machine without one, set ${WITHOUT_RUNTIME}`,
    passes: true,
  },
  network: {
    cure: `check the container runtime's network (CNI); if no program here runs pods, set ${WITHOUT_RUNTIME}`,
    passes: true,
  },
  storage: { cure: "check the storage drivers that the message names", passes: true },
  shutdown: { cure: "the machine shuts down soon" },
  facts: {
    cure: "fix the fault that the message names; `node-shim facts` shows the facts that the shim read",
  },
};
