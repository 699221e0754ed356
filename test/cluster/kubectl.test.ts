// Tests that kubectl prints the same with the embedded apiserver as with a real one. Needs a folder with etcd,
// kube-apiserver and kubectl in KUBEBUILDER_ASSETS. If KUBECTL_1_32 names another kubectl, tests it as well.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, follow, kubectl, normalise, clusterAt, startEmbedded } from "./kubectl.ts";
import { type Step, stories } from "./kubectl-stories.ts";
import { assets, KUBECTL, sharedServer } from "./servers.ts";

const older = process.env["KUBECTL_1_32"];
const programs: [title: string, program: string][] = [["kubectl", KUBECTL]];
if (older) programs.push(["kubectl 1.32", older]);

/** Replaces `%` in a text by the suffix, so that two versions of kubectl never use the same objects. */
function spoken(text: string, suffix: string): string {
  return text.replaceAll("%", suffix);
}

function words(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");
}

/** Runs a step and returns the printed lines, whose comparison shows where two servers differ. */
async function runStep(program: string, cluster: Cluster, step: Step, suffix: string): Promise<string[]> {
  const args = words(spoken(step.command, suffix));
  if (step.meanwhile) {
    const following = follow(program, cluster, args);
    await following.printed(new RegExp(spoken(step.meanwhile.after, suffix)));
    await kubectl(program, cluster, { args: words(spoken(step.meanwhile.command, suffix)) });
    await following.printed(new RegExp(spoken(step.meanwhile.until, suffix)));
    return normalise(await following.stop()).split("\n");
  }
  const { code, stdout, stderr } = await kubectl(program, cluster, {
    args,
    ...(step.input !== undefined && { input: spoken(step.input, suffix) }),
    ...(step.editor !== undefined && { editor: step.editor }),
  });
  const lines = normalise(stdout).split("\n");
  return [...(step.only ? lines.filter(step.only) : lines), ...normalise(stderr).split("\n"), `exit ${code}`];
}

async function runAll(program: string, cluster: Cluster, steps: Step[], suffix: string) {
  const outputs: { command: string; printed: string[] }[] = [];
  for (const step of steps) {
    outputs.push({ command: step.command, printed: await runStep(program, cluster, step, suffix) });
  }
  return outputs;
}

describe.skipIf(assets === "")("what kubectl prints", () => {
  let embedded: Cluster;
  let real: Cluster;
  beforeAll(async () => {
    [embedded, real] = await Promise.all([startEmbedded(), sharedServer().then(clusterAt)]);
  });
  afterAll(async () => {
    await Promise.all([embedded, real].map((cluster) => cluster.stop()));
  });

  describe.each(programs)("%s", (_, program) => {
    const suffix = program === older ? "-kubectl-old" : "-kubectl";
    test.each(Object.entries(stories))("%s", async (_, steps) => {
      const [onEmbedded, onReal] = await Promise.all(
        [embedded, real].map((cluster) => runAll(program, cluster, steps, suffix)),
      );
      expect(onEmbedded).toEqual(onReal);
    });
  });
});
