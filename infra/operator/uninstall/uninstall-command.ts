// Runs rollcall uninstall: lists the objects of a deployment in a cluster, removes them, and checks that they are
// gone. Uses the operator's own kubectl, because the Worker may no longer exist.
import { NODE_LEASE_NAMESPACE } from "../../../shared/node/lease.ts";
import { printable } from "../../../shared/protocol/printable.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { fail } from "../answer.ts";
import { confirmed } from "../confirm.ts";
import { clusterFlags, type Kubectl, kubectl, type KubectlFlags, ofState } from "../kubectl.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { findInCluster, type FoundInCluster, type ObjectGroup } from "./cluster-objects.ts";

const HELP = `
Removes with your own kubectl, in this order: the deployment's ServiceAccount and its Secrets, so that the Worker loses its
rights; its leases and Nodes; and, if no other deployment is in the cluster, the objects of infra/rbac with the namespace
rollcall-system, and those of infra/cloudflare with the namespace rollcall-way. The command asks first, and checks at the end
that nothing is left. If it was interrupted, run it again.

The Worker and the machines have commands of their own: docs/removing.md.

Examples:
  rollcall uninstall --cluster --dry-run
  rollcall uninstall --cluster --deployment east --kube-context prod`;

interface UninstallFlags extends KubectlFlags {
  cluster?: boolean;
  deployment: string;
  dryRun?: boolean;
  yes?: boolean;
}

/** Adds the command. `run` is typically kubectl itself. */
export function uninstallCommand(program: OperatorProgram, run: Kubectl = kubectl): void {
  program
    .command("uninstall")
    .description("Remove a deployment from the cluster: Nodes, leases, account, roles and policies.")
    .option("--cluster", "required: confirms that the command removes objects of the cluster for ever")
    .option("--deployment <id>", "the ID of the deployment: the Worker's variable DEPLOYMENT", "rollcall")
    .option(
      "--kubeconfig <file>",
      "the kubeconfig for kubectl, instead of kubectl's default, or of the one in the folder of --state",
    )
    .option("--kube-context <name>", "the context for kubectl, instead of the current context")
    .option("--dry-run", "list the objects that the command would remove, and remove nothing")
    .option("--yes", "do not ask for confirmation (for scripts)")
    .addHelpText("after", HELP)
    .action((flags: UninstallFlags) =>
      uninstall(program, (args) => run([...args, ...clusterFlags(ofState(flags, program.opts()))]), flags),
    );
}

async function uninstall(program: OperatorProgram, kubectl: Kubectl, flags: UninstallFlags): Promise<void> {
  const { terminal, process } = program.surroundings;
  const say = (line: string) => process.stdout.write(`${printable(line)}\n`);
  if (!flags.cluster)
    return fail(program, {
      reason: "usage",
      message: "pass --cluster: it confirms that objects of the cluster are removed",
    });
  const found = await findInCluster(kubectl, flags.deployment);
  if (!found.ok) return fail(program, { reason: "failed", message: found.error });
  const lines = linesOf(found.value);
  if (isEmpty(found.value)) {
    say(`nothing of the deployment ${flags.deployment} is in this cluster`);
    for (const line of keptLines(found.value)) say(line);
    return;
  }
  say(`Of the deployment ${flags.deployment} ${flags.dryRun ? "would" : "will"} be removed:`);
  for (const line of [...lines, ...keptLines(found.value)]) say(`  ${line}`);
  if (flags.dryRun) return;
  const agreed = await confirmed("All of this is removed for ever", flags, terminal);
  if (!agreed.ok) return fail(program, { reason: "failed", message: agreed.error });
  const removed = await remove(kubectl, found.value);
  if (!removed.ok)
    return fail(program, { reason: "failed", message: `${removed.error}; run it again to go on` });
  const left = await findInCluster(kubectl, flags.deployment);
  if (!left.ok) return fail(program, { reason: "failed", message: left.error });
  if (!isEmpty(left.value))
    return fail(program, {
      reason: "failed",
      message: `this is left: ${linesOf(left.value).join("; ")}; run it again`,
    });
  say("removed, and nothing of it is left");
}

/** The number of names in one call of kubectl at most, since they are its arguments. */
const AT_ONCE = 200;
/** The flags of each removal. The timeout ends a call if another program's finalizer keeps an object. */
const WAIT = ["--ignore-not-found", "--wait=true", "--timeout=120s"];

async function remove(kubectl: Kubectl, found: FoundInCluster): Promise<Result<null>> {
  const { account, leases, nodes, shared, way } = found;
  const groups: ObjectGroup[] = [
    account,
    { namespace: NODE_LEASE_NAMESPACE, names: leases.map((name) => `lease.coordination.k8s.io/${name}`) },
    { namespace: null, names: nodes.map((name) => `node/${name}`) },
    ...shared,
    ...way.groups,
  ];
  for (const { namespace, names } of groups) {
    const where = namespace === null ? [] : ["-n", namespace];
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const deleted = await kubectl(["delete", ...names.slice(at, at + AT_ONCE), ...where, ...WAIT]);
      if (!deleted.ok) return failure(deleted.error);
    }
  }
  return success(null);
}

function isEmpty({ account, nodes, leases, shared, way }: FoundInCluster): boolean {
  return [account.names, nodes, leases, shared, way.groups].every(({ length }) => length === 0);
}

/** The number of names of one kind that a list shows. Further names are only counted. */
const NAMES_SHOWN = 10;

function linesOf({ account, nodes, leases, shared, way }: FoundInCluster): string[] {
  return [
    ...account.names.map((name) => `${name} in ${account.namespace}`),
    ...counted("Nodes", nodes),
    ...counted(`leases in ${NODE_LEASE_NAMESPACE}`, leases),
    ...[...shared, ...way.groups].flatMap(({ namespace, names }) =>
      names.map((name) => (namespace === null ? name : `${name} in ${namespace}`)),
    ),
  ];
}

function counted(what: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const more = names.length > NAMES_SHOWN ? ", …" : "";
  return [`${names.length} ${what}: ${names.slice(0, NAMES_SHOWN).join(", ")}${more}`];
}

function keptLines({ others, way }: FoundInCluster): string[] {
  const rights =
    others.length === 0 ? [] : [`roles, policies and the namespace stay: ${others.join(", ")} needs them`];
  return way.stays === null ? rights : [...rights, way.stays];
}
