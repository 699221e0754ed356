// The meaning of each state, phase and condition, and what an operator does about it, for the command line and the docs.
import type { Phase } from "../protocol/answers.ts";
import type { FleetState } from "./state.ts";

export interface Explanation {
  /** The meaning, in a sentence or two. */
  means: string;
  /** What an operator does; NAME stands for the machine's name. "" if nothing. */
  todo: string;
}

export const STATE_EXPLANATIONS: Readonly<Record<FleetState, Explanation>> = {
  ready: { means: "The machine reports, its Node is Ready, and its lease is renewed.", todo: "" },
  "not-ready": {
    means: "The machine reports, and its Node is not Ready, or not registered yet.",
    todo: "`rollcall node NAME` shows the condition that says why. It is over with the report in which the cause is.",
  },
  silent: {
    means:
      "Nothing has been heard of the machine for the duration of its lease, although the Worker and the apiserver work. Its Node becomes Unknown.",
    todo: "`rollcall nodes --beside NAME` says whether its neighbours are silent too: then see to the site's power or network. Else look at the machine: `node-shim status` there. When it is back, its history says whether it was down or only cut off.",
  },
  "cluster-unreachable": {
    means:
      "The machine reports, and the Worker cannot write to the apiserver. Nothing is wrong with the machine.",
    todo: "`rollcall status` says what is wrong with the apiserver, or with the Worker's token for it.",
  },
  blocked: {
    means: "The machine reports, and nothing is written until somebody acts. Its phase says why.",
    todo: "`rollcall explain PHASE`, with the phase that `rollcall node NAME` shows.",
  },
  pending: {
    means: "The machine asks for a name that another key has. It waits for an operator.",
    todo: "`rollcall node pending` shows both machines; then `rollcall approve NAME KEY` or `rollcall reject NAME KEY`.",
  },
  revoked: {
    means: "The machine's key is refused for ever. Its Node is left as it is, or removed.",
    todo: "To take it away: `rollcall forget NAME`. To have it back: a join token made with --rejoin, and `node-shim join` on the machine.",
  },
};

export const PHASE_EXPLANATIONS: Readonly<Record<Phase, Explanation>> = {
  registering: {
    means: "The Node is being created, or compared with the one that exists.",
    todo: "Wait. Where it stays so, `rollcall history NAME` says what is missing.",
  },
  registered: {
    means: "The Node exists, and is kept true. It is Ready, or a condition says why not.",
    todo: "",
  },
  "facts refused": {
    means: "The machine has no Node yet, and what it says of itself is not valid.",
    todo: "Correct on the machine what the message names; `node-shim facts` shows where it was read.",
  },
  "waiting for Node": {
    means: "The machine is configured not to create its Node (registerNode: false), and there is none.",
    todo: "Create the Node, or set registerNode: true on the machine.",
  },
  "setup failed": {
    means: "The shim could not be set up, and has ended.",
    todo: "Correct on the machine what the message names, and start the shim again.",
  },
  cloned: {
    means: "Several machines report with one key, as copies of a disk do. No report of them counts.",
    todo: "`rollcall node clones NAME` shows who they are. Give each copy an empty state folder and a join token of its own; then `rollcall trust NAME`.",
  },
  "two shims": {
    means: "Two shims run on one machine. The one that was there first counts.",
    todo: "Stop the other one: `pgrep -af node-shim` on the machine shows both. `rollcall trust NAME` ends it at once, else an hour does.",
  },
  "name taken": {
    means: "A Node of that name is not this deployment's, or somebody else writes to it, as a kubelet does.",
    todo: "Rename the machine (--hostname-override), or hand the Node over: annotate it rollcall.dev/adopt and delete its lease.",
  },
  "node deleted": {
    means: "Somebody has deleted the Node while the machine was Ready. It stays deleted.",
    todo: "`rollcall register NAME` has it back with the next report. To be rid of the machine: `rollcall forget NAME`.",
  },
  "apiserver unreachable": {
    means:
      "The Worker cannot reach the apiserver, gets no answer in time, or something else answers in its place: a Tunnel without a connection, Access, a proxy.",
    todo: "`rollcall status` says since when, and what to do where that is known. See to the apiserver, and to the way there: docs/apiserver.md.",
  },
  "apiserver refuses": {
    means: "The apiserver refuses what the Worker writes: its token, its rights, or an admission policy.",
    todo: "`rollcall status` says what of the token and the rights is missing.",
  },
  "apiserver not configured": {
    means: "The Worker has no cluster to write to yet.",
    todo: "Give it KUBE_URL and KUBE_TOKEN; `rollcall status` says what is missing.",
  },
};

/** The conditions that rollcall sets itself. A machine's drop-ins may add others. */
export const CONDITION_EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  Ready: {
    means:
      "True: pods could run here, as far as the machine knows. False: its message says what is missing. Unknown: nothing is heard of the machine, and the cluster's node controller says so.",
    todo: "See to what the message names: the container runtime, its network, storage, or a shutdown. Where it is Unknown: `rollcall explain silent`.",
  },
  MemoryPressure: {
    means: "True: less memory is available than evictionHard or evictionSoft ask for.",
    todo: "Free memory on the machine, or set the threshold lower: `node-shim config` shows it.",
  },
  DiskPressure: {
    means: "True: less disk space, or fewer inodes, are available than the thresholds ask for.",
    todo: "Free space on the machine (nodefs, imagefs), or set the threshold lower: `node-shim config` shows it.",
  },
  PIDPressure: {
    means: "True: fewer process IDs are available than the threshold asks for.",
    todo: "Find on the machine what starts so many processes, or raise kernel.pid_max.",
  },
  NetworkUnavailable: {
    means:
      "True: the machine's network is not set up. It is set where --network-unavailable asks for it, and then left to others.",
    todo: "See to the cluster's network plugin, which sets it to False.",
  },
};
