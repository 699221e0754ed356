// node-shim preview: the Node that this machine would be, made by the setters that the Worker runs. Offline.
import { stringify } from "yaml";
import { reportedInitialNode } from "../shared/reported-node.ts";
import { NOTHING_REMEMBERED } from "../shared/reported-status.ts";
import { type MachineFlags, thisMachine } from "./machine.ts";

/** YAML, as `kubectl get node -o yaml` shows a Node right after its registration; what the apiserver adds is absent. */
export async function preview(flags: MachineFlags): Promise<string> {
  const say = (message: string) => console.error(`node-shim: ${message}`);
  const machine = await thisMachine(flags, (source, message) => say(`${source}: ${message}`));
  await machine.setUp();
  const { facts, vitals } = await machine.gather();
  const reported = {
    name: machine.name,
    facts,
    vitals,
    nowMs: Date.now(),
    memory: structuredClone(NOTHING_REMEMBERED),
    recordEvent: () => undefined,
  };
  const { node, errors } = reportedInitialNode(reported, false);
  for (const error of errors) say(error);
  return stringify({ apiVersion: "v1", kind: "Node", ...node });
}
