// Lists the shim's log lines and the sources of its warnings, with meaning and remedy. A Log accepts no other line.
// `npm run generate` writes docs/operations.md from the tables. In a line, words in capitals stand for values.
import type { MessageOf } from "../../shared/message-of.ts";
import { printable } from "../../shared/protocol/printable.ts";
import type { PressureCondition } from "../../shared/resources/eviction.ts";

export const LOG_LINES = {
  "phase: PHASE, node STATE": [
    "the phase in the Worker's last answer, and whether the Node is Ready; a message may follow",
    "[the remedy of `status`](shim.md#status) for that phase",
  ],
  "facts refused at PATH: MESSAGE": [
    "the Worker limits the value at PATH, leaves out its group of facts, or refuses all facts because of it",
    "correct the value on the machine: `node-shim facts` shows its source",
  ],
  "report failed: WHY": ["the Worker did not answer a report; the shim retries", "`node-shim doctor`"],
  "report refused: TITLE (REASON). DETAIL": [
    "the Worker refuses the request",
    "[the remedy for REASON](protocol.md#answers)",
  ],
  "enrolled as NAME at ORIGIN, key THUMBPRINT": [
    "the machine is enrolled: NAME belongs to its key",
    "no remedy is necessary",
  ],
  "enrolment failed: WHY; trying again": [
    "the Worker does not answer, or cannot enrol machines now",
    "`node-shim doctor`",
  ],
  "waiting to enrol: DETAIL": [
    "many machines enrol now; the shim repeats its request at this machine's turn",
    "no remedy is necessary",
  ],
  "waiting for an operator: TITLE. DETAIL Join token: ID": [
    "the name belongs to another key; the shim repeats its request until an operator decides",
    "`rollcall approvals`",
  ],
  "the Worker could not be told that the setup failed: WHY": [
    "the shim ends, and the Node does not show the cause",
    "fix the fault that the last line names",
  ],
  "reports go over a socket": ["the machine has a [socket](shim.md#sockets)", "no remedy is necessary"],
  "reports go by HTTP": [
    "the machine has no socket; `; no socket:` with the reason may follow",
    "no remedy is necessary, or [the remedy for the reason](shim.md#sockets)",
  ],
  "question of OPERATOR: QUESTION": [
    "an operator asks this machine; the Worker has checked who it is",
    "no remedy is necessary; `--questions` names the [questions](questions.md) that the machine answers",
  ],
  "proved by the key KEY: question of OPERATOR": [
    "a key of `--questions-from` has signed the question that a line before this one names",
    "no remedy is necessary; OPERATOR is the Worker's word, KEY is not",
  ],
  "answer to OPERATOR: QUESTION: N bytes, END": [
    "the answer has ended: END is `complete`, or why it is not",
    "no remedy is necessary",
  ],
  "an operator ends CONDITION": [
    "a problem detector held the condition, and holds it again if the problem occurs again",
    "no remedy is necessary; `rollcall audit` names the operator",
  ],
  "the machine slept for N s: reporting on a new connection": [
    "the machine was suspended",
    "no remedy is necessary",
  ],
  "no report for N s, since STEP does not end: reporting on a new connection": [
    "the shim hangs; if STEP still hangs after two minutes, the shim ends and its service starts it again",
    "check the disks and network file systems of the machine",
  ],
  "CONDITION: LEFT": [
    "a pressure has begun; LEFT is the available amount: `memory.available 92274688 of 8204615680`",
    "`rollcall explain CONDITION`",
  ],
  "CONDITION is over": ["the pressure has ended", "no remedy is necessary"],
  "the machine is shutting down": [
    "logind announced a shutdown; with the next report the Node is not Ready",
    "no remedy is necessary",
  ],
  "the shutdown was cancelled": [
    "logind cancelled the shutdown; the Node becomes Ready again",
    "no remedy is necessary",
  ],
  "shutdowns are not held back: WHY": [
    "the machine may go down before the last report arrives",
    "start logind, or set `shutdownGracePeriod: 0s` if that report is not needed",
  ],
  "a shutdown of this machine would not be noticed: WHY": [
    "the system bus or logind does not answer; the shim retries",
    "start logind, or set `shutdownGracePeriod: 0s`",
  ],
  "device plugin for RESOURCE registered": [
    "the Node counts the plugin's devices from now on",
    "no remedy is necessary",
  ],
  "device plugin refused: WHY": [
    "a device plugin's registration is invalid, or the shim already serves the maximum of resources or plugins",
    "correct the plugin, or remove one",
  ],
  "device plugin for RESOURCE is gone: WHY; its devices are unhealthy, and 0 in 5 minutes": [
    "the plugin has ended, or hangs",
    "start the plugin again; it then registers by itself",
  ],
  "device plugin for RESOURCE is gone: WHY; another plugin serves the resource": [
    "one of several plugins of a resource has ended; the resource keeps its devices",
    "no remedy is necessary",
  ],
  "device plugins: the socket in FOLDER was removed: listening again": [
    "another program emptied the folder; the plugins register again when they notice the removal",
    "restart a plugin that does not register again",
  ],
  "device plugins: FAULT; restart the shim once it may have it again": [
    "another process, such as a kubelet, uses the socket now; all devices are unhealthy",
    "stop that process, or remove `--device-plugins`; then restart the shim",
  ],
  "device plugins: FAULT: the shim reports, and stores its record later": [
    "the shim cannot store the names of the plugins' resources, and would not have them after a restart",
    "free disk space for the state folder",
  ],
  "FILE is damaged: the Node's extended resources are 0 until their device plugins register": [
    "the shim cannot read the stored names of the plugins' resources",
    "restart a plugin that does not register again by itself",
  ],
  "status: FAULT; reports go on, and `node-shim status` shows less": [
    "the shim cannot write the file that `status` reads",
    "free disk space, or give the folder to the shim's user",
  ],
  "status: FAULT; PATH has the status until the fault is over": [
    "the shim cannot write its usual status file; `node-shim status` reads the other file",
    "free disk space, or make the file system writable",
  ],
  "--join-token-file FILE can be read by other users (mode MODE): chmod 600 FILE, and ask your operator for another token":
    [
      "another user of the machine can enrol a machine with the token",
      "run the command that the line names; an operator revokes the token and makes another",
    ],
  "SOURCE: MESSAGE": [
    "the shim cannot read a part of the machine's facts, and omits that part from its reports",
    "[the remedy for SOURCE](#sources)",
  ],
  "node-shim: FAULT": [
    "the last line of a shim: the reason for its end",
    "fix the fault that the line names",
  ],
  "node-shim: NAME: MESSAGE": [
    "a warning of Node.js itself",
    "no remedy is necessary; if another fault occurs with it, report a bug",
  ],
} as const satisfies Record<string, readonly [means: string, todo: string]>;

export const WARNING_SOURCES = {
  "pinned keys": [
    "the file of `--questions-from` cannot be used, so that no operator may ask this machine",
    "[give the file a key](questions.md#keys-of-operators), root as its owner, and the mode 644",
  ],
  facts: [
    "the shim limits the named values, or omits the named groups, which the Worker would refuse",
    "correct the value at its source, which `node-shim facts` shows",
  ],
  report: [
    "the shim cuts the named groups of facts, so that the report has at most 262,144 bytes",
    "set `nodeStatusMaxImages`, or report fewer or shorter facts of drop-ins",
  ],
  "state folder": [
    "the shim cannot write its state folder, keeps reporting, and stores what is due after a later report; or the folder does not answer at the start, and the shim waits for it",
    "free space and inodes there, make the file system writable, or repair the network file system",
  ],
  configuration: [
    "the shim ignores fields that only a kubelet uses, all but the last value of a repeated key, or all but the first document",
    "remove the fields, or keep them for a kubelet",
  ],
  questions: [
    "a file of [the owner's own questions](questions.md#questions-of-your-own) has a fault: this question is off, and the others stay on",
    "correct the file, then restart the service",
  ],
  "container runtime": [
    "the runtime's socket does not answer, or several runtimes exist and the line names the used one",
    "start the runtime, or set the field that the line names ([the container runtime](configuration.md#the-container-runtime))",
  ],
  "container runtime status": [
    "the shim does not report whether the runtime and its network are ready; if that lasts, the Node is not Ready",
    "read the runtime's own log",
  ],
  "container runtime version": [
    "the shim omits the runtime's version, and the Node shows `Unknown`",
    "read the runtime's own log",
  ],
  images: [
    "the shim omits all images, or the images that do not fit into a report",
    "read the runtime's own log, or set `nodeStatusMaxImages`",
  ],
  imagefs: [
    "the shim omits the images' file system, so that DiskPressure considers only nodefs",
    "read the runtime's own log",
  ],
  nodefs: [
    "the shim omits the disk's size (`ephemeral-storage`)",
    "check that the file system of `--root-dir` answers",
  ],
  "nodefs.available": [
    "the shim omits the signal `nodefs.available` of DiskPressure",
    "check that the file system answers",
  ],
  "nodefs.inodesFree": [
    "the shim omits the signal `nodefs.inodesFree` of DiskPressure",
    "check that the file system answers",
  ],
  "imagefs.available": [
    "the shim omits the signal `imagefs.available` of DiskPressure",
    "check that the file system answers",
  ],
  "imagefs.inodesFree": [
    "the shim omits the signal `imagefs.inodesFree` of DiskPressure",
    "check that the file system answers",
  ],
  "memory.available": [
    "the shim omits the signal of MemoryPressure, whose message is then `not measured`",
    "start the kernel with `cgroup_enable=memory` if the line names it; check that the shim may read `/proc` and the root cgroup",
  ],
  "pid.available": ["the shim omits the signal of PIDPressure", "check that the shim may read `/proc`"],
  "OOM kills": [
    "the shim omits the number of processes that the kernel killed, and the Worker their events",
    "check that the shim may read `/proc` and the root cgroup",
  ],
  cores: [
    "the shim omits the machine's CPUs, without which the Worker registers no Node",
    "check that the shim may read `/sys`",
  ],
  memory: [
    "the shim omits the machine's memory, without which the Worker registers no Node",
    "check that the shim may read `/proc`",
  ],
  "huge pages": [
    "the shim omits the machine's huge pages, without which the Worker registers no Node",
    "check that the shim may read `/sys`",
  ],
  "machine ID": ["the shim omits the Node's machine ID", "check that the shim may read `/etc/machine-id`"],
  "boot ID": ["the shim omits the Node's boot ID", "check that the shim may read `/proc`"],
  "system UUID": [
    "the shim omits the Node's system UUID",
    "run the shim as root: only root can read the file",
  ],
  "OS image": [
    "the shim omits the operating system's name, and the Node shows `Unknown`",
    "check that the shim may read `/etc/os-release`",
  ],
  "network interfaces": [
    "the shim lacks the addresses from which it chooses the Node's address",
    "pass `--node-ip`",
  ],
  "default route": ["the shim lacks the route by which it chooses the Node's address", "pass `--node-ip`"],
  resolver: ["the shim lacks the address of the machine's name", "repair the resolver, or pass `--node-ip`"],
  "cloud metadata": [
    "the shim has no new metadata from the cloud, and the last valid answer stays; or it left out addresses above the limit",
    "[in a cloud](configuration.md#in-a-cloud)",
  ],
  inventory: [
    "the shim cannot read [the hardware](configuration.md#its-hardware) whole; the last complete reading stays",
    "check that the shim may read `/sys`",
  ],
  "problem detectors": [
    "a monitor of `--problem-detectors` cannot read its log, or ignores a part of its file",
    "[when one does not work](drop-ins.md#when-one-does-not-work)",
  ],
  features: [
    "the shim omits the [features](node-feature-discovery.md) or the devices that the line names",
    "check that the shim may read the file; name fewer features in `--features`",
  ],
  "attach limits": [
    "the shim omits the attach limits of drivers beyond the maximum, or of all drivers if it cannot read the folder of CSI sockets",
    "check that the shim may read the folder",
  ],
  "CSI driver at PATH": [
    "the shim omits the attach limit of the driver at PATH",
    "read the driver's own log",
  ],
  volumes: [
    "the shim omits volumes beyond the maximum; if a scan hangs, the list of the last scan stays",
    "check that the file system of `--root-dir` answers",
  ],
  "volume PATH": [
    "the shim omits the volume at PATH from `volumesInUse`",
    "fix the fault that the line names",
  ],
} as const satisfies Record<string, readonly [leftOut: string, todo: string]>;

/** The sources of facts and signals that a warning can name. */
export type WarningSource = MessageOf<keyof typeof WARNING_SOURCES>;

/** The lines that LogMessage lists by their first word, and the last line of a process. */
type OtherLine = "CONDITION: LEFT" | "CONDITION is over" | "SOURCE: MESSAGE" | `node-shim: ${string}`;

export type LogMessage =
  | MessageOf<Exclude<keyof typeof LOG_LINES, OtherLine>>
  | `${PressureCondition}: ${string}`
  | `${PressureCondition} is over`
  | `${WarningSource}: ${string}`;

export type Log = (level: "info" | "warn", message: LogMessage) => void;

export const LOG_FORMATS = ["text", "json"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** The most bytes of log lines that wait for a slow reader. Further lines are dropped. */
export const MAX_WAITING_LOG_BYTES = 1024 * 1024;

interface LogTarget {
  isTTY?: boolean;
  /** The bytes that wait for the reader. */
  writableLength: number;
  write: (text: string) => unknown;
}

/**
 * Returns a log that writes text on a terminal and JSON elsewhere, unless `format` is given. `now` gives RFC 3339.
 * Drops lines that the reader does not take.
 */
export function stderrLog(now: () => string, format?: LogFormat, target: LogTarget = process.stderr): Log {
  const chosen = format ?? (target.isTTY ? "text" : "json");
  return (level, message) => {
    const line = `${logLine(chosen, now(), level, message)}\n`;
    if (target.writableLength + Buffer.byteLength(line) <= MAX_WAITING_LOG_BYTES) target.write(line);
  };
}

/** Returns one printable log line in `format`, without the line break at its end. */
export function logLine(format: LogFormat, time: string, level: string, text: string): string {
  const message = printable(text);
  if (format === "text") return `${time.slice(11, 19)} ${level} ${message}`;
  return JSON.stringify({ time, level, message });
}
