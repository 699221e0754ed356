// npm run compare-kubelet: what node-shim would say of this machine, beside what a kubelet on it says.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { givenFlags, machineFlags, withSet } from "../../node-shim/cli/machine-flags.ts";
import { faultOf } from "../../node-shim/base/fault.ts";
import type { MachineFlags } from "../../node-shim/machine/settings.ts";
import { previewNode } from "../../node-shim/machine/preview-node.ts";
import { compareNodes, comparisonText, type NodeJson } from "./compare.ts";

const HELP = `
Without a file, the kubelet of KUBEBUILDER_ASSETS runs here (as root, with an etcd, a kube-apiserver and a containerd of
its own), registers, and is removed again; flags and configuration are then the same for both.

Exit codes: 0 when only that differs which has a reason to, 1 otherwise, 2 for a wrong command line.

Examples:
  kubectl get node $(hostname) -o json > node.json && npm run compare-kubelet -- node.json
  npm run compare-kubelet -- node.json --config /var/lib/kubelet/config.yaml --node-ip 192.0.2.7
  KUBEBUILDER_ASSETS=~/envtest npm run compare-kubelet
  KUBEBUILDER_ASSETS=~/envtest npm run compare-kubelet -- --system-reserved=cpu=100m,memory=256Mi --max-pods=30`;

interface Flags extends MachineFlags {
  saveNode?: string;
}

async function compareKubelet(file: string | undefined, flags: Flags, command: Command): Promise<void> {
  const { node, preview } =
    file === undefined
      ? await besideKubelet(flags, givenFlags(command, ["saveNode"]))
      : { node: nodeIn(file), preview: await ourNode(flags) };
  if (flags.saveNode !== undefined) writeFileSync(flags.saveNode, `${JSON.stringify(node, null, 2)}\n`);
  const comparison = compareNodes(node, preview);
  process.stdout.write(comparisonText(comparison));
  process.exitCode = comparison.differences.some(({ why }) => why === null) ? 1 : 0;
}

function nodeIn(file: string): NodeJson {
  const node = JSON.parse(readFileSync(file === "-" ? 0 : file, "utf8")) as NodeJson;
  if (node["kind"] === "Node") return node;
  throw new Error(`${file} holds no Node: kubectl get node NAME -o json`);
}

/** `given` are the same flags as texts: they are the kubelet's own. */
async function besideKubelet(flags: Flags, given: string[]): Promise<{ node: NodeJson; preview: NodeJson }> {
  // Its Kubernetes client takes most of a second to load, which a Node in a file does not need.
  const { missingForKubelet, startRealKubelet } = await import("./real-kubelet.ts");
  const assets = process.env["KUBEBUILDER_ASSETS"];
  const missing = missingForKubelet(assets);
  if (missing !== null || assets === undefined)
    throw new Error(`${missing}; or pass a kubelet's Node as JSON`);
  if (flags.config !== undefined)
    throw new Error("--config goes with a kubelet's Node as JSON: pass flags here");
  const folder = mkdtempSync(join(tmpdir(), "rollcall-kubelet-"));
  const kubelet = await startRealKubelet({ assets, folder, flags: given });
  try {
    // While the kubelet runs: the disk that both measure is then the same.
    return { node: kubelet.node, preview: await ourNode({ ...flags, config: kubelet.configFile }) };
  } finally {
    await kubelet.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function ourNode(flags: Flags): Promise<NodeJson> {
  const warn = (source: string, message: string) => console.error(`node-shim: ${source}: ${message}`);
  const { node } = await previewNode(withSet(flags), warn);
  return { ...node };
}

const program = machineFlags(new Command("npm run compare-kubelet --"))
  .description("Compare a kubelet's Node with the one that node-shim would report of this machine.")
  .argument("[node.json]", "the kubelet's Node (- for standard input)")
  .option("--save-node <file>", "keep the kubelet's Node there")
  .addHelpText("after", HELP)
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .action(compareKubelet);

try {
  await program.parseAsync();
} catch (error) {
  console.error(`npm run compare-kubelet: ${faultOf(error)}`);
  process.exitCode = 1;
}
