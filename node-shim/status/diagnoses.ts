// Lists the diagnoses of a machine's shim with their remedies: the one table for `status`, `join`, `doctor` and
// docs/shim.md.
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
  | "starting"
  | "hangs"
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
const NOT_HERE = "nothing to do on this machine, which reports on:";

export const DIAGNOSES: Readonly<Record<Kind, Entry>> = {
  Ready: { says: "is Ready", cure: "", exitCode: EXIT.ready },
  "no socket": {
    says: "is Ready, and reports by HTTP although --transport socket asks for a socket",
    cure: "let WebSockets to the Worker through, or pass --transport auto: HTTP does all that a socket does",
    exitCode: EXIT.fault,
  },
  "not Ready": {
    says: "is not Ready",
    cure: "see to what the message names; `node-shim doctor` looks at all of it",
    exitCode: EXIT.notReady,
    passes: true,
  },
  registering: {
    says: "is being registered",
    cure: "wait; where it stays so, the message says what is missing",
    exitCode: EXIT.notReady,
    passes: true,
  },
  "waiting for Node": {
    says: "has no Node, and may not make one (registerNode is false)",
    cure: "create the Node, or set registerNode: true",
    exitCode: EXIT.notReady,
  },
  "facts refused": {
    says: "has no Node: the Worker refuses this machine's facts",
    cure: "correct what the message names; `node-shim facts` shows where it was read",
    exitCode: EXIT.notReady,
  },
  "setup failed": {
    says: "could not be set up",
    cure: "correct what the message names, and start the shim again",
    exitCode: EXIT.notReady,
  },
  cloned: {
    says: "is cloned: several machines report with its key, and none of them counts",
    cure: "give each copy an empty state folder and a join token; then your operator ends it",
    exitCode: EXIT.notReady,
  },
  "two shims": {
    says: "has two shims on one machine, and one of them counts",
    cure: `stop the others: systemctl status ${UNIT} and pgrep -af node-shim show them`,
    exitCode: EXIT.notReady,
  },
  "name taken": {
    says: "is a name that another Node or writer has",
    cure: "rename this machine (--hostname-override), or have your operator hand the Node over",
    exitCode: EXIT.notReady,
  },
  "node deleted": {
    says: "has no Node: it was deleted",
    cure: "start the shim again, or have your operator run rollcall node register NAME; where the message has a time, it comes back then",
    exitCode: EXIT.notReady,
  },
  "apiserver unreachable": {
    says: "waits for the apiserver, which the Worker cannot reach",
    cure: `${NOT_HERE} your operator sees to the apiserver`,
    exitCode: EXIT.notReady,
    passes: true,
  },
  "apiserver refuses": {
    says: "is refused by the apiserver",
    cure: `${NOT_HERE} your operator sees to the rights and the token of the Worker`,
    exitCode: EXIT.notReady,
  },
  "apiserver not configured": {
    says: "waits for a cluster: the Worker has none yet",
    cure: `${NOT_HERE} your operator gives the Worker its cluster`,
    exitCode: EXIT.notReady,
  },
  unreachable: {
    says: "gets no answer from the Worker",
    cure: "`node-shim doctor` says at which step: URL, DNS, TLS, Worker",
    exitCode: EXIT.noAnswer,
    passes: true,
  },
  refused: {
    says: "is refused by the Worker",
    cure: "ask your operator whether the key was revoked or replaced; coming back needs a join token",
    exitCode: EXIT.noAnswer,
  },
  "not served": {
    says: "is not served by the Worker now",
    cure: "wait; where it stays so, the Worker's log says more to your operator",
    exitCode: EXIT.noAnswer,
    passes: true,
  },
  "Worker not configured": {
    says: "is not served: the Worker is not configured",
    cure: `${NOT_HERE} rollcall ready says to your operator what is missing`,
    exitCode: EXIT.noAnswer,
  },
  "wrong origin": {
    says: "signs for an origin that is none of the Worker's",
    cure: "pass the --url by which the others report, or have your operator add this one to ORIGINS",
    exitCode: EXIT.noAnswer,
  },
  starting: {
    says: "has a shim that has not reported yet",
    cure: "wait; where it stays so, the message says for what",
    exitCode: EXIT.noAnswer,
    passes: true,
  },
  hangs: {
    says: "has a shim that has stopped reporting, although it runs",
    cure: `journalctl -u ${UNIT} may say why; systemctl restart ${UNIT}`,
    exitCode: EXIT.notRunning,
  },
  ended: {
    says: "has a shim that has ended",
    cure: "correct what the message names, and start the shim again",
    exitCode: EXIT.notRunning,
    passes: true,
  },
  "not running": {
    says: "has no shim that runs",
    cure: `where the service is installed: systemctl start ${UNIT}, and journalctl -u ${UNIT} says why it ended; else node-shim install-service, or node-shim run`,
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
    cure: `start the container runtime; where there is none, set ${WITHOUT_RUNTIME}`,
    passes: true,
  },
  network: {
    cure: `see to the container runtime's network (CNI); where nothing here runs pods, set ${WITHOUT_RUNTIME}`,
    passes: true,
  },
  storage: { cure: "see to the storage drivers that the message names", passes: true },
  shutdown: { cure: "the machine is about to go down" },
  facts: { cure: "see to what the message names; `node-shim facts` shows what was read" },
};
