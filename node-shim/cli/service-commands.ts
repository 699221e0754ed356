// Defines the commands for the systemd service: install-service and uninstall-service.
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { LOG_FORMATS } from "../base/log.ts";
import { requireTrusted } from "../base/state-file.ts";
import { machineSettings, type MachineFlags } from "../machine/settings.ts";
import { missingFlags, missingVariables } from "../service/installed.ts";
import {
  hasPackageUnit,
  installService,
  thisHost,
  uninstallService,
  type UnitTexts,
} from "../service/service.ts";
import {
  ASK_SERVICE_UNIT,
  ASK_SOCKET_UNIT,
  askUnitText,
  KMSG_TEXT,
  MADE_BY,
  UNIT_NAME,
  unitText,
} from "../service/unit.ts";
import { caFileCertificates } from "../worker-link/outbound.ts";
import { machineFlags, givenFlags, withSet } from "./flags.ts";

export function addServiceCommands(program: Command): void {
  machineFlags(program.command("install-service"))
    .description("Install, enable and start the systemd service. It runs `node-shim run` with these flags.")
    .option("--url <origin>", "the Worker's URL; needed if `node-shim join` has not been run")
    .option("--state <folder>", "the folder for the machine's key and enrolment", "/var/lib/rollcall")
    .option(
      "--join-token-file <file>",
      "a file with a join token; needed if `node-shim join` has not been run",
    )
    .addOption(
      new Option("--log-format <format>", "the format of the service's log lines: text or json").choices([
        ...LOG_FORMATS,
      ]),
    )
    .option("--kmsg", "let the service read the kernel's log at /dev/kmsg, for --problem-detectors")
    .option("--print", "print the unit, and install nothing")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: MachineFlags & { state: string; kmsg?: true; print?: true }, command: Command) => {
      // Throws for flags that `run` would refuse at every start.
      machineSettings(withSet(flags));
      if (flags.caFile !== undefined) caFileCertificates(flags.caFile);
      if (!flags.print) requireTrusted(flags.state);
      if (flags.print)
        process.stdout.write(`${unitsFrom(command, flags.state)[UNIT_NAME]}${flags.kmsg ? KMSG_TEXT : ""}`);
      else await installFrom(command, flags.state);
    });

  program
    .command("uninstall-service")
    .description("Stop and disable the service, and remove the unit of install-service. The enrolment stays.")
    .action(async () => {
      process.stderr.write(`node-shim: ${await uninstallService(thisHost())}\n`);
    });
}

const EXAMPLES = `
Examples:
  node-shim install-service --config /etc/rollcall/kubelet.yaml --node-labels shop=4711
  node-shim install-service --print

If a package has installed the unit, this enables and starts that unit. Its flags are in /etc/rollcall/node-shim.env.`;

/** Installs the service. The service's unit starts the shim with the flags of `command`. */
export async function installFrom(command: Command, state: string): Promise<void> {
  const host = thisHost();
  const readsKernelLog = command.getOptionValue("kmsg") === true;
  const done = await installService(host, unitsFrom(command, state), readsKernelLog);
  process.stderr.write(`node-shim: ${done}\n`);
  const isPackaged = hasPackageUnit(host.root);
  for (const missing of [
    isPackaged ? missingFlags(host.root, runFlags(command)) : null,
    missingVariables(host.root, process.env),
  ])
    if (missing !== null) process.stderr.write(`node-shim: ${missing}\n`);
}

const NOT_FOR_RUN = ["print", "kmsg", "installService"];
/** The flags that only `join` needs: the enrolment stores their result. */
export const NOT_AFTER_JOIN = ["url", "joinTokenFile"];

function runFlags(command: Command): string[] {
  return givenFlags(command, command.name() === "join" ? [...NOT_FOR_RUN, ...NOT_AFTER_JOIN] : NOT_FOR_RUN);
}

function unitsFrom(command: Command, state: string): UnitTexts {
  const installation = {
    node: process.execPath,
    shim: realpathSync(process.argv[1] ?? ""),
    flags: runFlags(command),
    state: resolve(state),
  };
  return {
    [UNIT_NAME]: unitText(templateOf(UNIT_NAME), installation),
    [ASK_SOCKET_UNIT]: `${MADE_BY}\n${templateOf(ASK_SOCKET_UNIT)}`,
    [ASK_SERVICE_UNIT]: askUnitText(templateOf(ASK_SERVICE_UNIT), installation),
  };
}

/** Returns a packaged unit's text, from the file next to the bundle or, when run from sources, the repository. */
function templateOf(name: string): string {
  const places = [`./${name}`, `../../infra/systemd/${name}`];
  const found = places.map((place) => new URL(place, import.meta.url)).find((url) => existsSync(url));
  if (!found) throw new Error(`${name} is missing next to node-shim: install the package again`);
  return readFileSync(found, "utf8");
}
