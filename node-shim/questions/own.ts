// Answers a question of the machine's owner: runs its program without a shell, as a user of its own.
import { randomBytes } from "node:crypto";
import { failure, type Result, success } from "../../shared/result.ts";
import { abortAfter } from "../base/clock.ts";
import { type OwnAsked, type OwnQuestion, programFault } from "../config/own-questions.ts";
import { lineCleaner } from "./redaction.ts";
import type { Asking, QuestionHost } from "./source.ts";

/** The longest wait for systemd to end a program. */
const STOP_MS = 5000;
/** The seconds beyond a question's time after which systemd ends its program, should this process have been killed. */
const GRACE_SECONDS = 3;

/** Yields the lines of the program's output. */
export async function* own({ own: question, parameters }: OwnAsked, asking: Asking): AsyncGenerator<string> {
  const fault = programFault(question.program);
  if (fault !== null) throw new Error(fault);
  const args = question.arguments.map((argument) =>
    argument.replaceAll(/\{([a-z0-9-]+)\}/g, (all, name: string) =>
      Object.hasOwn(parameters, name) ? (parameters[name] ?? all) : all,
    ),
  );
  const unit = `rollcall-own-${randomBytes(8).toString("hex")}.service`;
  const command = commandOf(question, args, unit, asking);
  if (!command.ok) throw new Error(command.error);
  const [program = "", ...rest] = command.value;
  const clean = lineCleaner("BEGIN");
  let hasEnded = false;
  try {
    const { signal } = asking;
    for await (const line of asking.run(program, rest, { signal, name: question.program })) yield clean(line);
    hasEnded = !signal.aborted;
  } finally {
    // The end of systemd-run is not the end of its unit.
    if (!hasEnded && command.value.includes(`--unit=${unit}`)) await stop(unit, asking);
  }
}

async function stop(unit: string, { run }: Asking): Promise<void> {
  const options = { signal: abortAfter(STOP_MS), anyExitCode: true };
  for await (const _ of run("systemctl", ["stop", "--quiet", unit], options));
}

/** Returns the command line that runs the program as its user, or why this user cannot. */
export function commandOf(
  { program, user, seconds, help }: OwnQuestion,
  args: readonly string[],
  unit: string,
  { runner, stateFolder }: Pick<QuestionHost, "runner" | "stateFolder">,
): Result<string[]> {
  const itself = [program, ...args];
  if (!runner.isRoot) {
    if (user === runner.name) return success(itself);
    return failure(
      user === null
        ? `only root can run it as a user of its own: its file must have user: ${runner.name}`
        : `only root can run it as ${user}`,
    );
  }
  if (runner.hasSystemd) {
    const properties = [...propertiesOf(user, stateFolder), `RuntimeMaxSec=${seconds + GRACE_SECONDS}`];
    return success([
      "systemd-run",
      "--pipe",
      "--wait",
      "--collect",
      "--quiet",
      `--unit=${unit}`,
      `--description=rollcall node-shim: ${help}`,
      ...properties.map((property) => `--property=${property}`),
      "--",
      // systemd reads $ as the beginning of a variable.
      ...itself.map((word) => word.replaceAll("$", "$$$$")),
    ]);
  }
  if (user === "root") return success(itself);
  if (user !== null) return success(["runuser", "-u", user, "--", ...itself]);
  return failure("only systemd can run it as a user of its own: its file must have user: NAME");
}

/** Returns the sandbox of a program: as rollcall-ask@.service, it can write to no disk. */
function propertiesOf(user: string | null, stateFolder: string): string[] {
  const isRoot = user === "root";
  return [
    user === null ? "DynamicUser=yes" : `User=${user}`,
    ...(isRoot ? [] : ["CapabilityBoundingSet=", "PrivateDevices=yes"]),
    "NoNewPrivileges=yes",
    "ProtectSystem=strict",
    "ReadOnlyPaths=/run -/dev/hugepages -/dev/mqueue -/dev/shm",
    "ProtectHome=read-only",
    "PrivateTmp=yes",
    `InaccessiblePaths=-${stateFolder}`,
    "InaccessiblePaths=-/etc/rollcall/join-token",
    "ProtectClock=yes",
    "ProtectControlGroups=yes",
    "ProtectHostname=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
    "RestrictNamespaces=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "LockPersonality=yes",
    "KeyringMode=private",
    "SystemCallArchitectures=native",
    "UMask=0077",
    "MemoryMax=256M",
    "TasksMax=64",
    "LimitCORE=0",
    "Nice=10",
    "CPUWeight=20",
    "OOMScoreAdjust=900",
    "KillSignal=SIGKILL",
  ];
}
