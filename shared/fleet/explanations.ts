// Explains each state, phase and condition, and the operator's remedy, for the command line and the docs.
import type { Phase } from "../protocol/answers.ts";
import type { FleetState } from "./state.ts";

export interface Explanation {
  /** The meaning, in one or two sentences. */
  means: string;
  /** The operator's remedy; NAME stands for the machine's name. "" if the operator needs to do nothing. */
  todo: string;
}

export const STATE_EXPLANATIONS: Readonly<Record<FleetState, Explanation>> = {
  ready: { means: "The machine reports, its Node is Ready, and the Worker renews its lease.", todo: "" },
  "not-ready": {
    means:
      "The machine reports, but its Node is not Ready, or not registered yet. A machine that is not ready by its own report is not-ready also while the Worker cannot write to the apiserver.",
    todo: "`rollcall node NAME` shows the condition with the reason. Remove the cause: the state ends with the next report.",
  },
  silent: {
    means:
      "The machine has not reported for the duration of its lease, although the Worker and the apiserver work. The machine's Node becomes Unknown.",
    todo: "`rollcall nodes --beside NAME` shows the machines of the same network. If all of these machines are silent, check the site's power and network. If only this machine is silent, run `node-shim status` on the machine. After its next report, `rollcall history NAME` shows whether the machine was down or only cut off.",
  },
  "cluster-unreachable": {
    means:
      "The machine reports that it is ready, but the Worker cannot write to the apiserver. The conditions show whether the machine is under pressure.",
    todo: "`rollcall status` shows the problem of the apiserver, or of the Worker's token.",
  },
  blocked: {
    means:
      "The machine reports, but the Worker writes nothing until an operator acts. The machine's phase is the reason.",
    todo: "`rollcall node NAME` shows the phase, and `rollcall explain PHASE` its remedy.",
  },
  pending: {
    means: "The machine waits for an operator to give it a name that another machine has.",
    todo: "`rollcall node pending` shows both machines; then `rollcall approve NAME KEY` or `rollcall reject NAME KEY`.",
  },
  revoked: {
    means:
      "The Worker refuses the machine's key for ever. The Node stays, with Ready Unknown, until an operator removes it.",
    todo: "To remove the Node, run `rollcall forget NAME`. To enrol the machine again, create a join token with --rejoin, and run `node-shim join` on the machine.",
  },
};

/** Explains the state `revoked` of a machine whose removal waits. */
export const REMOVAL_EXPLANATION: Explanation = {
  means: "The machine is being removed: the Worker refuses its keys, and has not deleted its Node yet.",
  todo: "You need not repeat the removal: the Worker tries to delete the Node every five minutes, and the machine leaves the list once the apiserver has deleted the Node. `rollcall status` shows the problem of the apiserver.",
};

export const PHASE_EXPLANATIONS: Readonly<Record<Phase, Explanation>> = {
  registering: {
    means: "The Worker is creating the Node, or comparing it with an existing Node of this name.",
    todo: "Wait. If the phase does not end, `rollcall history NAME` shows the reason.",
  },
  registered: {
    means: "The Worker keeps the Node up to date. If the Node is not Ready, a condition has the reason.",
    todo: "",
  },
  "facts refused": {
    means: "The machine has no Node yet, and its facts are not valid.",
    todo: "`rollcall node NAME` names the invalid fact. Correct it on the machine; `node-shim facts` shows its source.",
  },
  "waiting for Node": {
    means:
      "The machine's configuration forbids to create its Node (registerNode: false), and the cluster has no Node of this name.",
    todo: "Create the Node, or set registerNode: true on the machine.",
  },
  "setup failed": {
    means: "The shim ended with an error while it was starting.",
    todo: "`rollcall history NAME` names the problem. Fix it on the machine, and start the shim again.",
  },
  cloned: {
    means:
      "Several machines report with one key, for example copies of a disk. The Worker ignores the reports of all these machines, and sets Ready to Unknown.",
    todo: "`rollcall node clones NAME` lists the machines. Give each copy an empty state folder and its own join token. At the end, run `rollcall trust NAME`.",
  },
  "two shims": {
    means: "Two shims run on one machine. Only the reports of the first shim count.",
    todo: "Stop one of the shims: `pgrep -af node-shim` on the machine lists both. `rollcall trust NAME` ends the phase at once; otherwise it ends after ten minutes.",
  },
  "name taken": {
    means:
      "The Node of this name belongs to another owner, or another writer, such as a kubelet, updates it.",
    todo: "Rename the machine (--hostname-override), or hand the Node over: annotate the Node with rollcall.dev/adopt and delete its lease.",
  },
  "node deleted": {
    means: "The Node was deleted while it was Ready, and the Worker does not register it again.",
    todo: "To register the Node again with the next report, run `rollcall register NAME`. To remove the machine, run `rollcall forget NAME`.",
  },
  "apiserver unreachable": {
    means:
      "The Worker cannot reach the apiserver, gets no answer in time, or gets an answer from another server: a Tunnel without a connection, Access, a proxy.",
    todo: "`rollcall status` shows when the problem began, and a remedy if one is known. Check the apiserver and the Worker's connection to it: docs/apiserver.md.",
  },
  "apiserver refuses": {
    means:
      "The apiserver refuses the Worker's requests because of the Worker's token, the rights of its account, or an admission policy.",
    todo: "`rollcall status` shows the fault of the token, or the missing rights.",
  },
  "apiserver not configured": {
    means: "The Worker has no address of an apiserver, or no token for it.",
    todo: "Set KUBE_URL and KUBE_TOKEN; `rollcall status` shows which one is missing.",
  },
};

/** The conditions that rollcall sets itself. A machine's drop-ins may add other conditions. */
export const CONDITION_EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  Ready: {
    means:
      "True: the machine could run pods, by its own reports. False: the message of the condition has the reason. Unknown: the Worker or the cluster's node controller has set this status because no report of the machine counts.",
    todo: "If False, fix the fault in the message: the container runtime, its network, storage, or a shutdown. If Unknown, run `rollcall explain silent`.",
  },
  MemoryPressure: {
    means: "True: less memory is available than evictionHard or evictionSoft requires.",
    todo: "Free memory on the machine, or lower the threshold, which `node-shim config` shows.",
  },
  DiskPressure: {
    means:
      "True: less disk space, or fewer inodes, are available than evictionHard or evictionSoft requires.",
    todo: "Free space on the machine (nodefs, imagefs), or lower the threshold, which `node-shim config` shows.",
  },
  PIDPressure: {
    means: "True: fewer process IDs are available than evictionHard or evictionSoft requires.",
    todo: "Find the program on the machine that starts too many processes, or raise kernel.pid_max.",
  },
  NetworkUnavailable: {
    means:
      "True: the machine's network is not set up. rollcall sets the condition once, if the shim has --network-unavailable; later the network plugin changes it.",
    todo: "Check the cluster's network plugin, which must set the condition to False.",
  },
  MaintenanceInProgress: {
    means: "True: an operator works on the machine. The machine causes no alert.",
    todo: "Nothing. `rollcall node maintenance NAME end` ends it before its time.",
  },
};

/** Returns the remedy of a condition with a problem, where NAME stands for the machine's name. */
export const conditionTodo = (type: string): string =>
  CONDITION_EXPLANATIONS[type]?.todo ??
  "Check on the machine what the condition’s message names. `rollcall node clear NAME CONDITION` ends a condition that a problem detector holds.";
