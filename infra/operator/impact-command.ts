// Runs rollcall impact: prints the effects of more Nodes on the cluster of the operator's kubectl.
import { InvalidArgumentError } from "commander";
import { parseNodeLabels, validateNodeLabels } from "../../shared/kubernetes/labels.ts";
import { success } from "../../shared/result.ts";
import type { ReadFault } from "../impact/cluster-reader.ts";
import type { Finding } from "../impact/finding.ts";
import type { ImpactReport } from "../impact/impact.ts";
import { impactText } from "../impact/impact-text.ts";
import { kubectlReader } from "../impact/kubectl-reader.ts";
import { fail, type Flags, print } from "./answer.ts";
import { EXIT_CODES, type OperatorFault } from "./fault.ts";
import { type KubectlFlags, ofState, type RunKubectl } from "./kubectl.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { listOf, type Shown } from "./render/shown.ts";
import type { TableColumn } from "./render/table.ts";

const HELP = `
Each Node of rollcall is one more for all programs that count Nodes. This command reads the cluster with your own kubectl,
and reports in advance what would break, what costs more, and the remedies.

The command needs the right to get and list. It names the objects that it may not read, and continues. It creates one Node as
a dry run (dryRun=All), which the apiserver checks and does not store, so that it finds a policy that refuses such a Node.
Without the right to create Nodes the command omits this step.

--upgrade is for clusters that have such Nodes: the command lists objects that select them by labels that they no longer have.

Exit codes: 0 nothing breaks, 1 something breaks, 2 the command line or the kubeconfig is wrong, 4 the credentials are
refused, 5 the cluster cannot be reached.

Examples:
  rollcall impact --machines 300
  rollcall impact --kubeconfig FILE --kube-context prod --node-labels site=b,rack=r7
  rollcall impact --upgrade -o json`;

const MOST_MACHINES = 100_000;

interface ImpactFlags extends KubectlFlags {
  machines: number;
  upgrade?: boolean;
  nodeLabels: Record<string, string>;
}

/** Adds the command. `run` is typically kubectl itself. */
export function impactCommand(program: OperatorProgram, run?: RunKubectl): void {
  program
    .command("impact")
    .description(
      "Report the effects that additional Nodes would have on a cluster. Exits with 1 if a function would break.",
    )
    .option("--machines <n>", `the number of additional Nodes: 1 to ${MOST_MACHINES}`, machineCount, 300)
    .option("--node-labels <labels>", "labels that your join tokens will set: site=b,rack=r7", nodeLabels, {})
    .option("--upgrade", "also list objects that select rollcall's Nodes by labels that an upgrade renamed")
    .option(
      "--kubeconfig <file>",
      "the kubeconfig for kubectl, instead of kubectl's default, or of the one in the folder of --state",
    )
    .option("--kube-context <name>", "the context for kubectl, instead of the current context")
    .addHelpText("after", HELP)
    .action((flags: ImpactFlags) => impact(program, ofState(flags, program.opts()), run));
}

async function impact(
  program: OperatorProgram,
  flags: ImpactFlags,
  run: RunKubectl | undefined,
): Promise<void> {
  if (program.opts<Flags>().context !== undefined)
    return fail(program, {
      reason: "usage",
      message: "--context names a Worker's: for a cluster pass --kube-context",
    });
  // The checks are loaded on demand, because no other command reads a cluster.
  const { assessImpact } = await import("../impact/impact.ts");
  const report = await assessImpact(kubectlReader(flags, run), {
    machines: flags.machines,
    isUpgrade: flags.upgrade === true,
    labels: flags.nodeLabels,
  });
  if (!report.ok) return fail(program, faultOfReading(report.error));
  await print(program, () => success(impactShown(report.value)), report.value);
  const breaks = report.value.findings.some(({ severity }) => severity === "breaks");
  if (breaks) program.surroundings.process.exitCode = EXIT_CODES.failed;
}

const COLUMNS: readonly TableColumn<Finding>[] = [
  { head: "SEVERITY", of: ({ severity }) => severity, rank: 0 },
  { head: "CHECK", of: ({ check }) => check, rank: 1 },
  { head: "OBJECT", of: ({ object }) => object, rank: 0 },
  { head: "CONSEQUENCE", of: ({ consequence }) => consequence, rank: 2 },
  { head: "REMEDY", of: ({ remedy }) => remedy, rank: 3 },
  { head: "LINK", of: ({ link = "" }) => link, rank: 4 },
];

/** Returns the report: sentences for people, and a list for programs. */
function impactShown(report: ImpactReport): Shown {
  const { list } = listOf(report.findings, () => COLUMNS, { nameOf: ({ object }) => object });
  return { text: ({ screen }) => impactText(report, screen), ...(list && { list }) };
}

function faultOfReading({ reason, message }: ReadFault): OperatorFault {
  const line = message.split("\n").at(-1) ?? message;
  if (reason === "unreachable")
    return { reason: "unreachable", message: `the cluster cannot be reached: ${line}` };
  if (reason === "unauthorized")
    return { reason: "refused", message: `the cluster refuses these credentials: ${line}` };
  if (reason === "usage") return { reason: "usage", message: `kubectl: ${line}` };
  return { reason: "failed", message: `no apiserver answers there: ${line}` };
}

function machineCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= MOST_MACHINES) return count;
  throw new InvalidArgumentError(`must be a whole number from 1 to ${MOST_MACHINES}.`);
}

function nodeLabels(text: string): Record<string, string> {
  const labels = parseNodeLabels(text);
  const wrong = validateNodeLabels(labels);
  if (wrong !== null) throw new InvalidArgumentError(wrong);
  return labels;
}
