// Runs rollcall kubectl-top …: the adapter that answers `kubectl top nodes` for rollcall's Nodes, and the two commands
// that let the cluster ask it, and metrics-server again. docs/kubectl-top.md describes the adapter.
import type { Command } from "commander";
import { type Result, success } from "../../shared/result.ts";
import type { AdapterOptions } from "../kubectl-top/serve.ts";
import { switchOff, switchOn } from "../kubectl-top/switch.ts";
import { connect, fail } from "./answer.ts";
import { confirmed } from "./confirm.ts";
import { wholeNumber } from "./flag-values.ts";
import { clusterFlags, type Kubectl, kubectl, type KubectlFlags, ofState } from "./kubectl.ts";
import type { OperatorProgram } from "./operator-program.ts";

const HELP = `
kubectl top, autoscalers and others ask one server for the metrics of Nodes and pods, typically metrics-server. metrics-server
asks the kubelet of each Node, and rollcall's Nodes have none. After \`on\` the apiserver asks the adapter instead, which answers
for rollcall's Nodes by the usage that machines send, and passes everything else on to metrics-server. It is off until then.

Before \`on\`, apply infra/kubectl-top (docs/kubectl-top.md). Both commands use your own kubectl.

Examples:
  rollcall kubectl-top on --kube-context prod
  rollcall kubectl-top off --kube-context prod`;

interface SwitchFlags extends KubectlFlags {
  yes?: boolean;
}

/** Adds the commands. `run` is typically kubectl itself. */
export function kubectlTopCommands(program: OperatorProgram, run: Kubectl = kubectl): void {
  const commands = program
    .command("kubectl-top")
    .description("kubectl top nodes also for machines: switch the adapter in the cluster on and off.")
    .addHelpText("after", HELP);
  const change = (name: string, description: string, act: (kubectl: Kubectl) => Promise<Result<string>>) =>
    commands
      .command(name)
      .description(description)
      .option(
        "--kubeconfig <file>",
        "the kubeconfig for kubectl, instead of kubectl's default, or of the one in the folder of --state",
      )
      .option("--kube-context <name>", "the context for kubectl, instead of the current context")
      .option("--yes", "do not ask for confirmation (for scripts)")
      .action(async (flags: SwitchFlags) => {
        const { terminal, process } = program.surroundings;
        const agreed = await confirmed(description.replace(/\.$/, ""), flags, terminal);
        const ended = agreed.ok
          ? await act((args, input) => run([...args, ...clusterFlags(ofState(flags, program.opts()))], input))
          : agreed;
        if (ended.ok) process.stdout.write(`${ended.value}\n`);
        else fail(program, { reason: "failed", message: ended.error });
      });
  change("on", "Let the apiserver ask the adapter for the metrics of Nodes and pods.", (run) =>
    switchOn(run, program.surroundings.pause),
  );
  change(
    "off",
    "Let the apiserver ask metrics-server again, and remove the adapter from the cluster.",
    switchOff,
  );
  serveCommand(program, commands);
}

interface ServeFlags extends Partial<AdapterOptions> {
  port: number;
  tls: string;
  metricsServer: string;
}

function serveCommand(program: OperatorProgram, commands: Command): void {
  commands
    .command("serve")
    .description("Run the adapter, in a pod of infra/kubectl-top.")
    .option("--port <port>", "the port of the server", wholeNumber, 8443)
    .option("--tls <folder>", "the folder with the server's tls.crt and tls.key", "/run/tls")
    .option(
      "--metrics-server <origin>",
      "the server that answers for all other Nodes and for pods",
      "https://metrics-server.kube-system.svc",
    )
    .option(
      "--metrics-server-ca <file>",
      "the authority of that server's certificate, which is not checked otherwise",
    )
    .option("--apiserver <origin>", "the apiserver, outside of a pod")
    .option(
      "--account <folder>",
      "the folder with the account's token and the cluster's ca.crt, outside of a pod",
    )
    .action(async (flags: ServeFlags) => {
      const { stderr, env } = program.surroundings.process;
      const connection = connect(program);
      if (!connection.ok) return fail(program, connection.error);
      // The server is loaded on demand, because no other command needs it.
      const { inPod, serveAdapter } = await import("../kubectl-top/serve.ts");
      const { apiserver, account } = flags;
      const place =
        apiserver && account
          ? success({ apiserver, account })
          : inPod(env as Record<string, string | undefined>);
      if (!place.ok) return fail(program, { reason: "usage", message: place.error });
      const ended = new AbortController();
      for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => ended.abort());
      const say = (line: string) => stderr.write(`${line}\n`);
      const serving = await serveAdapter({ ...flags, ...place.value }, connection.value, say, ended.signal);
      if (serving.ok) say(`serving on port ${serving.value}`);
      else fail(program, { reason: "failed", message: serving.error });
    });
}
