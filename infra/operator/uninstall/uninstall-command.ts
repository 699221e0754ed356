// rollcall uninstall: takes away what a cluster has of a deployment, listed before, and looks again afterwards. With the
// operator's own kubectl: the Worker is not asked, and may be gone.
import { NODE_LEASE_NAMESPACE } from "../../../shared/node/lease.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { fail } from "../answer.ts";
import { confirmed } from "../confirm.ts";
import { fault } from "../fault.ts";
import { clusterFlags, type Kubectl, kubectl, type KubectlFlags } from "../kubectl.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { findInCluster, type FoundInCluster, type ObjectGroup } from "./cluster-objects.ts";

const HELP = `
Removes with your own kubectl, in this order: the deployment's ServiceAccount and its Secrets, so that the Worker may write
nothing any more; its leases and Nodes; and, where no other deployment is in the cluster, what infra/rbac has put there, with
the namespace rollcall-system, and what infra/cloudflare has, with rollcall-way. Asks before, and looks afterwards that nothing
is left. Run again, it goes on.

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

/** `run`: typically kubectl itself. */
export function uninstallCommand(program: OperatorProgram, run: Kubectl = kubectl): void {
  program
    .command("uninstall")
    .description("Take a deployment away from the cluster: Nodes, leases, account, roles and policies.")
    .option("--cluster", "what is in the cluster; say so, since nothing brings it back")
    .option("--deployment <id>", "the Worker's DEPLOYMENT", "rollcall")
    .option("--kubeconfig <file>", "for kubectl, instead of its own")
    .option("--kube-context <name>", "for kubectl, instead of the current one")
    .option("--dry-run", "only list it")
    .option("--yes", "do not ask")
    .addHelpText("after", HELP)
    .action((flags: UninstallFlags) =>
      uninstall(program, (args) => run([...args, ...clusterFlags(flags)]), flags),
    );
}

async function uninstall(program: OperatorProgram, kubectl: Kubectl, flags: UninstallFlags): Promise<void> {
  const { terminal, process } = program.surroundings;
  const say = (line: string) => process.stdout.write(`${line}\n`);
  if (!flags.cluster)
    return fail(program, fault("usage", "pass --cluster: nothing else is removed here").error);
  const found = await findInCluster(kubectl, flags.deployment);
  if (!found.ok) return fail(program, fault("failed", found.error).error);
  const lines = linesOf(found.value);
  if (isEmpty(found.value)) {
    say(`nothing of the deployment ${flags.deployment} is in this cluster`);
    for (const line of keptLines(found.value)) say(line);
    return;
  }
  say(`Of the deployment ${flags.deployment} ${flags.dryRun ? "would" : "will"} be removed:`);
  for (const line of [...lines, ...keptLines(found.value)]) say(`  ${line}`);
  if (flags.dryRun) return;
  const agreed = await confirmed("All of this is removed, and nothing brings it back", flags, terminal);
  if (!agreed.ok) return fail(program, fault("failed", agreed.error).error);
  const removed = await remove(kubectl, found.value);
  if (!removed.ok) return fail(program, fault("failed", `${removed.error}; run it again to go on`).error);
  const left = await findInCluster(kubectl, flags.deployment);
  if (!left.ok) return fail(program, fault("failed", left.error).error);
  if (!isEmpty(left.value))
    return fail(
      program,
      fault("failed", `this is left: ${linesOf(left.value).join("; ")}; run it again`).error,
    );
  say("removed, and nothing of it is left");
}

/** Nodes of one call: their names are its arguments. */
const AT_ONCE = 200;
/** For each call: a finalizer of somebody else may keep an object. */
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

/** More names than a screen has are counted. */
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
