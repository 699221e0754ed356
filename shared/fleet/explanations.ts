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
  ready: { means: "The machine reports, its Node is Ready, and its lease is renewed.", todo: "" },
  "not-ready": {
    means: "The machine reports, and its Node is not Ready, or not registered yet.",
    todo: "`rollcall node NAME` shows the condition that says why. It ends with the first report without the cause.",
  },
  silent: {
    means:
      "The machine has not reported for the duration of its lease, although the Worker and the apiserver work. Its Node becomes Unknown.",
    todo: "`rollcall nodes --beside NAME` shows whether its neighbours are silent too: then check the site's power and network. Otherwise run `node-shim status` on the machine. Once it is back, its history shows whether it was down or only cut off.",
  },
  "cluster-unreachable": {
    means:
      "The machine reports, and the Worker cannot write to the apiserver. Nothing is wrong with the machine.",
    todo: "`rollcall status` shows the problem of the apiserver, or of the Worker's token.",
  },
  blocked: {
    means: "The machine reports, and the Worker writes nothing until an operator acts. Its phase says why.",
    todo: "`rollcall explain PHASE`, with the phase that `rollcall node NAME` shows.",
  },
  pending: {
    means: "The machine asks for a name that another key has. It waits for an operator.",
    todo: "`rollcall node pending` shows both machines; then `rollcall approve NAME KEY` or `rollcall reject NAME KEY`.",
  },
  revoked: {
    means: "The machine's key is refused for ever. Its Node stays, or was removed.",
    todo: "To remove it: `rollcall forget NAME`. To enrol it again: create a join token with --rejoin, and run `node-shim join` on the machine.",
  },
};

export const PHASE_EXPLANATIONS: Readonly<Record<Phase, Explanation>> = {
  registering: {
    means: "The Node is being created, or compared with the one that exists.",
    todo: "Wait. If the phase does not end, `rollcall history NAME` shows what is missing.",
  },
  registered: {
    means: "The Node exists and is kept up to date. It is Ready, or a condition says why not.",
    todo: "",
  },
  "facts refused": {
    means: "The machine has no Node yet, and its facts are not valid.",
    todo: "Correct the named fact on the machine; `node-shim facts` shows its source.",
  },
  "waiting for Node": {
    means: "The machine is configured not to create its Node (registerNode: false), and there is none.",
    todo: "Create the Node, or set registerNode: true on the machine.",
  },
  "setup failed": {
    means: "The shim could not be set up, and has ended.",
    todo: "Fix the named problem on the machine, and start the shim again.",
  },
  cloned: {
    means: "Several machines report with one key, as copies of a disk do. No report of them counts.",
    todo: "`rollcall node clones NAME` shows the machines. Give each copy an empty state folder and a join token of its own; then `rollcall trust NAME`.",
  },
  "two shims": {
    means: "Two shims run on one machine. Only the first one's reports count.",
    todo: "Stop the other one: `pgrep -af node-shim` on the machine shows both. `rollcall trust NAME` ends the phase at once; otherwise it ends after an hour.",
  },
  "name taken": {
    means: "A Node of that name is not this deployment's, or another writer, such as a kubelet, updates it.",
    todo: "Rename the machine (--hostname-override), or hand over the Node: annotate it with rollcall.dev/adopt and delete its lease.",
  },
  "node deleted": {
    means: "The Node was deleted while the machine was Ready. It stays deleted.",
    todo: "`rollcall register NAME` creates it again with the next report. To remove the machine: `rollcall forget NAME`.",
  },
  "apiserver unreachable": {
    means:
      "The Worker cannot reach the apiserver, gets no answer in time, or gets one from elsewhere: a Tunnel without a connection, Access, a proxy.",
    todo: "`rollcall status` shows since when, and a remedy if one is known. Check the apiserver and the connection to it: docs/apiserver.md.",
  },
  "apiserver refuses": {
    means:
      "The apiserver refuses the Worker's requests: because of its token, its rights, or an admission policy.",
    todo: "`rollcall status` shows what the token or its rights lack.",
  },
  "apiserver not configured": {
    means: "The Worker has no cluster yet.",
    todo: "Set KUBE_URL and KUBE_TOKEN; `rollcall status` shows what is missing.",
  },
};

/** The conditions that rollcall sets itself. A machine's drop-ins may add other conditions. */
export const CONDITION_EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  Ready: {
    means:
      "True: the machine could run pods, by its own reports. False: its message says what is missing. Unknown: the cluster's node controller has set it, since the machine does not report.",
    todo: "Fix what the message names: the container runtime, its network, storage, or a shutdown. If it is Unknown: `rollcall explain silent`.",
  },
  MemoryPressure: {
    means: "True: less memory is available than evictionHard or evictionSoft demand.",
    todo: "Free memory on the machine, or set the threshold lower: `node-shim config` shows it.",
  },
  DiskPressure: {
    means: "True: less disk space, or fewer inodes, are available than the thresholds demand.",
    todo: "Free space on the machine (nodefs, imagefs), or set the threshold lower: `node-shim config` shows it.",
  },
  PIDPressure: {
    means: "True: fewer process IDs are available than the threshold demands.",
    todo: "Find the program on the machine that starts too many processes, or raise kernel.pid_max.",
  },
  NetworkUnavailable: {
    means:
      "True: the machine's network is not set up. rollcall sets it once, with --network-unavailable; the network plugin changes it.",
    todo: "Check the cluster's network plugin, which sets it to False.",
  },
};
