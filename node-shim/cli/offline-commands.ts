// The commands that only read this machine: preview, config, facts, version. They send and store nothing.
import type { Command } from "commander";
import { stringify } from "yaml";
import { KUBELET_VERSION } from "../../shared/from-report/reported-status.ts";
import { VERSION } from "../../shared/version.ts";
import { printConfig } from "../commands/print-config.ts";
import { printFacts } from "../commands/print-facts.ts";
import { previewNode } from "../machine/preview-node.ts";
import { requireOwnReservations } from "../machine/reservations.ts";
import type { MachineFlags } from "../machine/settings.ts";
import { machineFlags, withSet } from "./machine-flags.ts";
import { likeService } from "./service-flags.ts";

export function addOfflineCommands(program: Command): void {
  machineFlags(likeService(program.command("preview")))
    .description("Print the Node that this machine would be, as YAML. Offline: nothing is sent.")
    .addHelpText("after", "\nExample:\n  node-shim preview --config /etc/rollcall/kubelet.yaml")
    .action(async (flags) => {
      process.stdout.write(await preview(withSet(flags)));
    });

  machineFlags(likeService(program.command("config")))
    .description("Print the configuration in force, as YAML, and where each value came from. Offline.")
    .addHelpText("after", "\nExample:\n  node-shim config --config /etc/rollcall/kubelet.yaml --max-pods 30")
    .action(async (flags) => {
      const text = printConfig(withSet(flags));
      await requireOwnReservations(withSet(flags));
      process.stdout.write(text);
    });

  machineFlags(likeService(program.command("facts")))
    .description(
      "Print what this machine would report of itself, as JSON, and where each fact was read. Offline.",
    )
    .addHelpText("after", "\nExample:\n  node-shim facts | jq .machine")
    .action(async (flags) => {
      process.stdout.write(await printFacts(withSet(flags)));
    });

  program
    .command("version")
    .description("Print the versions of the shim, of what its Node shows as the kubelet's, and of Node.js.")
    .action(() => {
      const { node } = process.versions;
      process.stdout.write(
        `node-shim ${VERSION}\nkubelet ${KUBELET_VERSION}\nnode v${node} ${process.platform}/${process.arch}\n`,
      );
    });
}

// node-shim preview: prints the Node that this machine would be. Offline.

/** YAML, as `kubectl get node -o yaml` shows a Node right after its registration; what the apiserver adds is absent. */
export async function preview(flags: MachineFlags): Promise<string> {
  const say = (message: string) => console.error(`node-shim: ${message}`);
  const { node, errors } = await previewNode(flags, (source, message) => say(`${source}: ${message}`));
  for (const error of errors) say(error);
  return stringify({ apiVersion: "v1", kind: "Node", ...node });
}
