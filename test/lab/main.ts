// Runs a tool that measures or attacks the product (`npm run lab -- NAME …`). Each tool has its own --help.

export interface Tool {
  name: string;
  /** The path of the tool's file from this folder. */
  file: string;
  what: string;
}

/** The tools. Each is also an npm script of its name. */
export const TOOLS: readonly Tool[] = [
  { name: "bench", file: "bench/main.ts", what: "measures what is promised, next to its budget" },
  {
    name: "costs",
    file: "bench/cost/record.ts",
    what: "counts what machines cost and send, for docs/costs.md",
  },
  {
    name: "hostile",
    file: "hostile/main.ts",
    what: "hostile requests, frames and machines: the Worker refuses all of them",
  },
  {
    name: "fleet",
    file: "fleet/main.ts",
    what: "a thousand machines, some broken: five places report the same",
  },
  {
    name: "referee",
    file: "referee/main.ts",
    what: "random faults in virtual time: no face states for longer than 45 s what is not true",
  },
  { name: "soak", file: "soak/main.ts", what: "ten thousand machines over sockets for an hour" },
  {
    name: "mutation",
    file: "mutation/main.ts",
    what: "breaks the Worker's sources in one place at a time: does a test fail?",
  },
  {
    name: "compare-problems",
    file: "problems/main.ts",
    what: "the conditions and events of node-problem-detector next to the shim's",
  },
  {
    name: "compare-agents",
    file: "agents/main.ts",
    what: "what the agents of node-feature-discovery and node-problem-detector cost next to the shim",
  },
  {
    name: "compatibility",
    file: "compatibility/main.ts",
    what: "runs contract, rights, controllers, e2e tests and a fleet on releases of Kubernetes",
  },
  {
    name: "compare-features",
    file: "features/main.ts",
    what: "the features and labels of node-feature-discovery next to the shim's",
  },
  {
    name: "compare-kubelet",
    file: "kubelet/main.ts",
    what: "a kubelet's Node and events next to the shim's, field by field",
  },
  {
    name: "kubelet-verdicts",
    file: "kubelet/record-verdicts.ts",
    what: "records which configurations a kubelet accepts",
  },
];

const WIDTH = Math.max(...TOOLS.map(({ name }) => name.length));

const HELP = `npm run lab -- NAME [ARGUMENT…]: runs one of the tools below, which no default test run includes.
npm run NAME -- [ARGUMENT…] is the same; npm run test:lab runs the tools' own tests.

${TOOLS.map(({ name, what }) => `  ${name.padEnd(WIDTH)}  ${what}\n`).join("")}
Exit codes: the tool's; 2 for a name that is none.
`;

/** Runs a tool and returns the exit code. undefined if the tool has set the exit code. */
async function run([name, ...args]: readonly string[]): Promise<number | undefined> {
  if (name === "--help" || name === "-h") {
    process.stdout.write(HELP);
    return 0;
  }
  const tool = TOOLS.find((each) => each.name === name);
  if (!tool) {
    const problem = name === undefined ? "a NAME is missing" : `there is no tool ${name}`;
    process.stderr.write(`npm run lab: ${problem}. Take one of these:\n\n${HELP}`);
    return 2;
  }
  // The arguments are replaced first, because a tool reads its command line when it is loaded.
  process.argv.splice(2, Infinity, ...args);
  await import(new URL(tool.file, import.meta.url).href);
  return undefined;
}

if (import.meta.main) process.exitCode = (await run(process.argv.slice(2))) ?? process.exitCode ?? 0;
