// Runs rollcall cost: prints what a fleet costs at Cloudflare in a month, by the prices of docs/costs.md. Sends no request.
import { success } from "../../shared/result.ts";
import { print } from "./answer.ts";
import { COST_PARTS } from "./cost-parts.ts";
import { wholeNumber } from "./flag-values.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { textOf } from "./render/shown.ts";

const HELP = `
The prices are those of docs/costs.md, for machines that report every 10 s. Small fleets cost less over sockets than this sum.
The sum has the $5 of the plan Workers Paid, and subtracts no amount that the plan includes. It omits the apiserver.

Example:
  rollcall cost --machines 300`;

/** The number of Nodes that Kubernetes supports in one cluster. */
const NODES_A_CLUSTER = 5000;

interface PartPrices {
  once: number;
  eachMachine: number;
  eachGateway: number | null;
}

export function costCommand(program: OperatorProgram): void {
  program
    .command("cost")
    .description("Print what a fleet of this size costs a month at Cloudflare. Sends no request.")
    .requiredOption("--machines <n>", "the number of machines", wholeNumber)
    .addHelpText("after", HELP)
    .action(({ machines }: { machines: number }) => {
      const { transports, gatewaySize, leasePutsAnHour } = COST_PARTS;
      const gateways = Math.ceil(machines / gatewaySize);
      const bills = Object.entries(transports).map(([transport, parts]) => ({
        transport,
        dollars: Math.round(dollarsOf(parts, machines, gateways) * 100) / 100,
        formula: formulaOf(parts, machines, gateways),
      }));
      const leasePutsASecond = Math.round((machines * leasePutsAnHour) / 360) / 10;
      const lines = [
        `${machines} machines, a month:`,
        ...bills.map(
          ({ transport, dollars, formula }) => `  ${transport.padEnd(8)} $${dollars.toFixed(2)} = ${formula}`,
        ),
        `The apiserver gets ${leasePutsASecond} lease PUTs a second.`,
        ...(machines > NODES_A_CLUSTER
          ? [
              `Kubernetes supports ${NODES_A_CLUSTER} Nodes a cluster; each further cluster needs its own Worker.`,
            ]
          : []),
      ];
      const sent = { machines, bills, leasePutsASecond };
      return print(program, () => success(textOf(() => `${lines.join("\n")}\n`)), sent);
    });
}

const dollarsOf = ({ once, eachMachine, eachGateway }: PartPrices, machines: number, gateways: number) =>
  once + machines * eachMachine + (eachGateway === null ? 0 : gateways * eachGateway);

function formulaOf(
  { once, eachMachine, eachGateway }: PartPrices,
  machines: number,
  gateways: number,
): string {
  const gateway =
    eachGateway === null ? "" : ` + ${gateways} ${gateways === 1 ? "gateway" : "gateways"} × $${eachGateway}`;
  return `$${once} once + ${machines} machines × $${eachMachine}${gateway}`;
}
