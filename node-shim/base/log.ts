// Lists the shim's log lines and the sources of its warnings, with meaning and remedy. A Log accepts no other line.
// `npm run generate` writes docs/operations.md from the tables. In a line, words in capitals stand for values.
import type { MessageOf } from "../../shared/message-of.ts";
import type { PressureCondition } from "../../shared/resources/eviction.ts";

export const LOG_LINES = {
  "phase: PHASE, node STATE": [
    "what the Worker answers now, and whether the Node is Ready; a message may follow",
    "[what `status` shows](shim.md#status) for that phase",
  ],
  "facts refused at PATH: MESSAGE": [
    "behind a phase: the machine's facts are not valid there",
    "correct it on the machine: `node-shim facts` shows where it was read",
  ],
  "report failed: WHY": ["no answer from the Worker; it is tried again", "`node-shim doctor`"],
  "report refused: TITLE (REASON). DETAIL": [
    "the Worker refuses the request",
    "[the reason](protocol.md#answers)",
  ],
  "enrolled as NAME at ORIGIN, key THUMBPRINT": ["the name is this machine's key's", "nothing"],
  "enrolment failed: WHY; trying again": [
    "the Worker does not answer, or cannot enrol machines now",
    "`node-shim doctor`; where the line names whom to ask, ask them",
  ],
  "waiting for an operator: TITLE. DETAIL Join token: ID": [
    "another key has the name; the machine asks again until an operator decides",
    "`rollcall approvals`",
  ],
  "the Worker could not be told that the setup failed: WHY": [
    "the shim ends, and its Node does not show why",
    "what the last line names",
  ],
  "reports go over a socket": ["the machine has a [socket](shim.md#sockets)", "nothing"],
  "reports go by HTTP": [
    "it has none; `; no socket:` and why may follow",
    "nothing, or [what stands in its way](shim.md#sockets)",
  ],
  "the machine slept for N s: reporting on a new connection": ["it was suspended", "nothing"],
  "CONDITION: LEFT": [
    "a pressure has begun; LEFT is what is left: `memory.available 92274688 of 8204615680`",
    "`rollcall explain CONDITION`",
  ],
  "CONDITION is over": ["the pressure has ended", "nothing"],
  "the machine is shutting down": [
    "logind has announced it; the Node turns NotReady with the next report",
    "nothing",
  ],
  "the shutdown was cancelled": ["the machine stays; the Node turns Ready again", "nothing"],
  "shutdowns are not held back: WHY": [
    "the last report of a shutdown may not arrive in time",
    "start logind, or set `shutdownGracePeriod: 0s` where it is not needed",
  ],
  "a shutdown of this machine would not be noticed: WHY": [
    "the system bus or logind does not answer; it is tried again",
    "the same",
  ],
  "device plugin for RESOURCE registered": ["its devices count from now on", "nothing"],
  "device plugin refused: WHY": [
    "a device plugin's registration is not valid, or there is no room for another resource",
    "correct the plugin, or remove one",
  ],
  "device plugin for RESOURCE is gone: WHY; its devices are unhealthy, and 0 in 5 minutes": [
    "the plugin has ended, or hangs",
    "start it again: it registers by itself",
  ],
  "device plugins: the socket in FOLDER was removed: listening again": [
    "the folder was emptied; plugins register again once they notice",
    "nothing, unless a plugin does not come back: restart it",
  ],
  "device plugins: FAULT; restart the shim once it may have it again": [
    "another process, as a kubelet, has the socket now; its devices are unhealthy",
    "stop that process, or run the shim without `--device-plugins`; then restart it",
  ],
  "device plugins: FOLDER cannot be written to (FAULT): make room": [
    "which resources there are is not kept: a restart would forget them",
    "make room in the state folder",
  ],
  "FILE is damaged: the Node's extended resources are 0 until their device plugins register": [
    "the record in the state folder cannot be read",
    "nothing: plugins register at the shim's new socket; restart one that does not",
  ],
  "status: FAULT; reports go on, and `node-shim status` shows less": [
    "the file that `status` reads cannot be written",
    "make room, or see that its folder is the shim's own user's",
  ],
  "SOURCE: MESSAGE": [
    "something of the machine cannot be read, and is left out of its reports",
    "[by source](#sources)",
  ],
  "node-shim: FAULT": ["the last line: why it has ended", "what the line names"],
  "node-shim: NAME: MESSAGE": [
    "a warning of Node.js itself",
    "nothing, unless it comes with something else: then a report of a bug",
  ],
} as const satisfies Record<string, readonly [means: string, todo: string]>;

export const WARNING_SOURCES = {
  configuration: [
    "fields that are ignored, since nothing here depends on them, or a key that is there twice",
    "remove them, or keep them for a kubelet",
  ],
  "container runtime": [
    "its socket does not answer, or which of several is used",
    "start it, or set what the line names ([the container runtime](configuration.md#the-container-runtime))",
  ],
  "container runtime status": [
    "whether it and its network are ready: where it stays so, the Node turns NotReady",
    "see the runtime's own log",
  ],
  "container runtime version": ["its version: `Unknown` in the Node", "likewise"],
  images: ["images, or those that do not fit into a report", "likewise, or set `nodeStatusMaxImages`"],
  imagefs: [
    "where images are kept: until it is known, DiskPressure checks nodefs alone",
    "see the runtime's own log",
  ],
  nodefs: ["the disk's size: `ephemeral-storage`", "see that the file system of `--root-dir` answers"],
  "nodefs.available": ["that signal of DiskPressure", "see that the file system answers"],
  "nodefs.inodesFree": ["that signal of DiskPressure", "see that the file system answers"],
  "imagefs.available": ["that signal of DiskPressure", "see that the file system answers"],
  "imagefs.inodesFree": ["that signal of DiskPressure", "see that the file system answers"],
  "memory.available": [
    "the signal of MemoryPressure",
    "see that the shim may read `/proc` and the root cgroup",
  ],
  "pid.available": ["the signal of PIDPressure", "likewise"],
  "OOM kills": ["events of processes that the kernel has killed", "likewise"],
  cores: ["all of what the machine itself has: no Node is registered without it", "likewise"],
  memory: ["all of what the machine itself has: no Node is registered without it", "likewise"],
  "huge pages": ["all of what the machine itself has: no Node is registered without it", "likewise"],
  "machine ID": ["that ID of the Node", "see that `/etc/machine-id` and `/proc` can be read"],
  "boot ID": ["that ID of the Node", "see that `/etc/machine-id` and `/proc` can be read"],
  "system UUID": ["that ID of the Node", "run the shim as root: the file is root's"],
  "OS image": ["the system's name: `Unknown`", "see that `/etc/os-release` can be read"],
  "network interfaces": ["addresses by which the Node's address is chosen", "pass `--node-ip`"],
  "default route": ["addresses by which the Node's address is chosen", "pass `--node-ip`"],
  resolver: ["the address that the machine's name has", "mend the resolver, or pass `--node-ip`"],
  "cloud metadata": [
    "the cloud's metadata of the machine; the last good answer stays",
    "[in a cloud](configuration.md#in-a-cloud)",
  ],
  inventory: [
    "[the hardware](configuration.md#its-hardware); the last good reading stays",
    "see that the shim may read `/sys`",
  ],
  "attach limits": [
    "drivers beyond those that fit, or the folder of CSI sockets",
    "see that the folder can be read",
  ],
  "CSI driver at PATH": ["that driver's limit of volumes", "see the driver's own log"],
  volumes: [
    "volumes beyond those that fit, or a scan that hangs: the last one stays",
    "see that the file system of `--root-dir` answers",
  ],
  "volume PATH": ["that volume", "see what the line names"],
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

/**
 * Returns a log that writes text on a terminal and JSON elsewhere, unless `format` is given. `now` returns RFC
 * 3339.
 */
export function stderrLog(now: () => string, format?: LogFormat): Log {
  const chosen = format ?? (process.stderr.isTTY ? "text" : "json");
  return (level, message) => console.error(logLine(chosen, now(), level, message));
}

/** Returns one log line in `format`, without the line break at its end. */
export function logLine(format: LogFormat, time: string, level: string, message: string): string {
  if (format === "text") return `${time.slice(11, 19)} ${level} ${message}`;
  return JSON.stringify({ time, level, message });
}
