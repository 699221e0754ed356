// What `npm start` says at its begin and its end: what to try, and how to go on. Every command can be pasted.
import { nodeName } from "../../node-shim/machine/settings.ts";
import { shellCommand } from "./parts.ts";
import type { StartFlags } from "./place.ts";

const ROLLCALL = ["npm", "run", "--silent", "rollcall", "--"];

interface Running {
  /** For kubectl. */
  kubeconfig: string;
  folder: string;
  /** With a code by which a browser signs in. */
  page: string;
}

/** Three things to try: the cluster, this machine's Node, and the fleet as the Worker sees it; and the page. */
export function nextSteps({ kubeconfig, folder, page }: Running): string {
  const kubectl = ["kubectl", "--kubeconfig", kubeconfig];
  const commands = lines("Try:", [
    [...kubectl, "get", "nodes", "-o", "wide"],
    [...kubectl, "describe", "node", nodeName({})],
    [...ROLLCALL, "--state", folder, "nodes"],
  ]);
  const another = shellCommand([...ROLLCALL, "--state", folder, "page"]);
  return `${commands}\nThe page: ${page}\n  (good once, for 10 minutes; \`${another}\` makes another)`;
}

/** For who has ended it. */
export function afterwards(flags: StartFlags): string {
  const again = ["npm", "start", ...flagWords(flags)];
  const anew = ["npm", "start", ...flagWords({ ...flags, fresh: true })];
  const ended = lines("\nEverything has ended and is kept. Go on with it, or begin anew:", [again, anew]);
  if (flags.kubeconfig === undefined) return ended;
  const remove = ["npm", "start", ...flagWords({ ...flags, nodes: 0, remove: true })];
  return `${ended}\n${lines("Take away what is in your cluster:", [remove])}`;
}

function flagWords({ state, fresh, config, nodes, kubeconfig, remove }: StartFlags): string[] {
  const words = [
    ...(state === ".rollcall" ? [] : ["--state", state]),
    ...(fresh ? ["--fresh"] : []),
    ...(config === undefined ? [] : ["--config", config]),
    ...(nodes === 0 ? [] : ["--nodes", String(nodes)]),
    ...(kubeconfig === undefined ? [] : ["--kubeconfig", kubeconfig]),
    ...(remove ? ["--remove"] : []),
  ];
  return words.length === 0 ? [] : ["--", ...words];
}

function lines(title: string, commands: string[][]): string {
  return [title, ...commands.map((command) => `  ${shellCommand(command)}`)].join("\n");
}
