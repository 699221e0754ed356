// Describes this machine to the sources of answers.
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { runChild } from "../base/child.ts";
import { wallMs } from "../base/clock.ts";
import { programLines } from "../base/program-lines.ts";
import { socketPathOf } from "../config/validation.ts";
import { checkUrl, type DoctorFlags } from "../doctor/doctor.ts";
import { workerProbes } from "../doctor/worker-probes.ts";
import type { MachineSettings } from "../machine/settings.ts";
import { RUNTIME_SOCKETS } from "../sources/cri/runtime-finder.ts";
import { hardware } from "../sources/inventory/inventory.ts";
import type { QuestionHost } from "./source.ts";

/** Returns this machine, with the settings of its owner. */
export function questionHost(
  settings: MachineSettings,
  flags: Pick<DoctorFlags, "url" | "state" | "caFile">, // of the command
): QuestionHost {
  return {
    root: "/",
    run: programLines,
    wallMs,
    files: settings.questionFiles,
    on: settings.questions,
    own: settings.ownQuestions,
    runner: thisRunner(),
    stateFolder: flags.state,
    runtime: runtimeOf(settings),
    readHardware: () => hardware(false, runChild),
    checkWorker: () => checkUrl({ ...flags, transport: "http" }, workerProbes(), process.env),
  };
}

/** Describes the user of this process. A user without a name gets its number, which no file can name. */
function thisRunner(): QuestionHost["runner"] {
  const isRoot = process.geteuid?.() === 0;
  // systemd's own test: sd_booted(3).
  return { isRoot, name: userName(), hasSystemd: existsSync("/run/systemd/system") };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.geteuid?.());
  }
}

/** Returns the socket of a configured runtime, or the sockets at which the shim searches for one. */
function runtimeOf({
  docker,
  active: { containerRuntimeEndpoint },
}: MachineSettings): QuestionHost["runtime"] {
  if (docker !== null) return { isDocker: true, sockets: [docker] };
  if (containerRuntimeEndpoint === "") return { isDocker: false, sockets: [] };
  if (containerRuntimeEndpoint === null) return { isDocker: false, sockets: RUNTIME_SOCKETS };
  const socket = socketPathOf(containerRuntimeEndpoint);
  return { isDocker: false, sockets: socket.ok ? [socket.value] : [] };
}
