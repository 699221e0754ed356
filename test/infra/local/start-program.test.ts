// Tests the suggestions that `npm start` prints, and the commands to continue: an operator can paste them.
import { expect, it, test } from "vitest";
import { afterwards, nextSteps } from "../../../infra/local/start-program.ts";
import type { StartFlags } from "../../../infra/local/settings.ts";

it("what to try: the Nodes, this machine's, the fleet, and the page", () => {
  const page = "http://127.0.0.1:8787/#code=abc";
  const running = { kubeconfig: "/my state/kubeconfig", folder: "/my state", name: "edge-7", page };
  expect(nextSteps(running).split("\n")).toEqual([
    "Try:",
    "  kubectl --kubeconfig '/my state/kubeconfig' get nodes -o wide",
    `  kubectl --kubeconfig '/my state/kubeconfig' describe node edge-7`,
    "  npm run --silent rollcall -- --state '/my state' nodes",
    `The page: ${page}`,
    "  (works once, for 10 minutes; `npm run --silent rollcall -- --state '/my state' page` makes another)",
  ]);
});

test.each<[string, Partial<StartFlags>, string[]]>([
  ["no flags", {}, ["npm start", "npm start -- --fresh"]],
  [
    "a start with no data → the first command keeps the data",
    { fresh: true },
    ["npm start", "npm start -- --fresh"],
  ],
  [
    "a transport",
    { transport: "http" },
    ["npm start -- --transport http", "npm start -- --fresh --transport http"],
  ],
  [
    "no data in a cluster of one's own",
    { fresh: true, kubeconfig: "/k" },
    [
      "npm start -- --kubeconfig /k",
      "npm start -- --fresh --kubeconfig /k",
      "npm start -- --kubeconfig /k --remove",
    ],
  ],
  [
    "a folder of one's own, and machines",
    { state: "/my state", nodes: 3 },
    ["npm start -- --state '/my state' --nodes 3", "npm start -- --state '/my state' --fresh --nodes 3"],
  ],
  [
    "a name of one's own",
    { hostnameOverride: "edge-7" },
    ["npm start -- --hostname-override edge-7", "npm start -- --fresh --hostname-override edge-7"],
  ],
  [
    "a cluster of one's own",
    { kubeconfig: "/k", nodes: 3, yes: true },
    [
      "npm start -- --nodes 3 --kubeconfig /k",
      "npm start -- --fresh --nodes 3 --kubeconfig /k",
      "npm start -- --kubeconfig /k --remove",
    ],
  ],
])("how to go on after %s", (_, flags, commands) => {
  const said = afterwards({ state: ".rollcall", nodes: 0, ...flags }).split("\n");
  expect(said.filter((line) => line.startsWith("  ")).map((line) => line.trim())).toEqual(commands);
});
