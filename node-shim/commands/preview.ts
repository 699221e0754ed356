// node-shim preview: prints the Node that this machine would be. Offline.
import { stringify } from "yaml";
import type { MachineFlags } from "../machine/settings.ts";
import { previewNode } from "../machine/preview-node.ts";

/** YAML, as `kubectl get node -o yaml` shows a Node right after its registration; what the apiserver adds is absent. */
export async function preview(flags: MachineFlags): Promise<string> {
  const say = (message: string) => console.error(`node-shim: ${message}`);
  const { node, errors } = await previewNode(flags, (source, message) => say(`${source}: ${message}`));
  for (const error of errors) say(error);
  return stringify({ apiVersion: "v1", kind: "Node", ...node });
}
