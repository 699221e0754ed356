// Tests rollcall kubectl-top on and off: the confirmation, the chosen cluster, and the exit codes.
import { expect, it } from "vitest";
import { kubectlTopCommands } from "../../../infra/operator/kubectl-top-commands.ts";
import { success } from "../../../shared/result.ts";
import { playAlone } from "./played.ts";

/** Runs a command line with a kubectl that finds no object. */
async function run(line: string, types?: string) {
  const asked: string[] = [];
  const kubectl = async (words: readonly string[]) => {
    asked.push(words.join(" "));
    return Promise.resolve(success(""));
  };
  const ended = await playAlone(
    (program) => kubectlTopCommands(program, kubectl),
    ["kubectl-top", ...line.split(" ")],
    types,
  );
  return { ...ended, asked };
}

it.each<[line: string, types: string | undefined, error: RegExp]>([
  ["on", undefined, /There is no terminal to ask at: pass --yes/],
  ["off", undefined, /There is no terminal to ask at: pass --yes/],
  ["off", "n", /nothing was changed/],
])("%s without a yes → asks kubectl nothing, and 1", async (line, types, error) => {
  const { asked, code, stderr } = await run(line, types);
  expect({ asked, code, stderr }).toEqual({ asked: [], code: 1, stderr: expect.stringMatching(error) });
});

it("on without the adapter → what to do first, and 1", async () => {
  const { code, stderr } = await run("on --yes");
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/first apply infra\/kubectl-top/),
  });
});

it("off → in the chosen cluster, what is done, and 0", async () => {
  const { asked, code, stdout } = await run("off --yes --kubeconfig FILE --kube-context prod");
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^off: .*the adapter is removed\n$/),
  });
  expect(asked.every((words) => words.endsWith("--kubeconfig=FILE --context=prod"))).toBe(true);
});
