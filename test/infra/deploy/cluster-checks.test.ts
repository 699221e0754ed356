// Tests the checks of the apiserver's address and of the cluster at kubectl's context.
import { describe, expect, it, test } from "vitest";
import { addressCheck, clusterChecks } from "../../../infra/deploy/cluster-checks.ts";
import type { DeploySettings } from "../../../infra/deploy/settings-file.ts";
import { failure, type Result, success } from "../../../shared/result.ts";

const settings = (more: Partial<DeploySettings>): DeploySettings => ({
  environment: null,
  worker: "rollcall",
  deployment: "rollcall",
  origins: ["https://rollcall.example.com"],
  apiserver: "https://kube.example.com",
  secretFiles: {},
  variables: {},
  ...more,
});

test.each([
  ["https://10.0.0.1:6443", true],
  ["https://172.31.0.1", true],
  ["https://172.32.0.1", false],
  ["https://192.168.1.2", true],
  ["https://127.0.0.1:6443", true],
  ["https://100.64.0.1", true],
  ["https://[fd00::1]:6443", true],
  ["https://[2001:db8::1]", false],
  ["https://kubernetes", true],
  ["https://kubernetes.default.svc", true],
  ["https://master.lan", true],
  ["https://kube.example.com:6443", false],
  ["https://203.0.113.7", false],
  ["no URL", false],
])("%s → a warning: %s", (apiserver, isWarned) => {
  expect(addressCheck(settings({ apiserver }))?.state === "warning").toBe(isWarned);
  expect(addressCheck(settings({ apiserver, vpcService: "id" }))).toBeNull();
});

describe("the cluster of kubectl's context", () => {
  const VERSION = (minor: number) =>
    success(
      JSON.stringify({
        clientVersion: { gitVersion: "v1.29.0" },
        serverVersion: { gitVersion: `v1.${minor}.2` },
      }),
    );
  interface Answers {
    version?: Result<string>;
    get?: Result<string>;
    auth?: Result<string>;
  }
  async function found(answers: Answers = {}, kubeContext?: string) {
    const asked: string[] = [];
    const all = {
      version: VERSION(36),
      get: success("serviceaccount/rollcall\n"),
      auth: success("yes\n"),
      ...answers,
    };
    const checks = await clusterChecks(settings(kubeContext === undefined ? {} : { kubeContext }), (args) => {
      asked.push(args.join(" "));
      return Promise.resolve(all[args.find((word) => word in all) as keyof typeof all]);
    });
    return { asked, checks: checks.map(({ state, message }) => `${state}: ${message}`) };
  }

  it("all is as needed → nothing, by reads of the named context", async () => {
    const { asked, checks } = await found({}, "prod");
    expect(checks).toEqual([]);
    expect(asked).toEqual([
      "--context prod version -o json",
      "--context prod get serviceaccount rollcall -n rollcall-system -o name --ignore-not-found",
      "--context prod auth can-i create serviceaccounts --subresource=token -n rollcall-system",
    ]);
  });

  it("everything is wrong → all faults at once", async () => {
    const { checks } = await found({
      version: VERSION(29),
      get: success(""),
      auth: failure("kubectl: exit code 1"),
    });
    expect(checks).toEqual([
      "failed: the cluster has Kubernetes v1.29.2",
      "failed: there is no ServiceAccount rollcall in rollcall-system",
      "failed: this user may not create a token of ServiceAccounts in rollcall-system",
    ]);
  });

  it.each<[situation: string, answers: Answers, checks: string[]]>([
    ["the oldest version", { version: VERSION(30) }, []],
    ["no version of the server", { version: success("{}") }, ["failed: the cluster's version is not known"]],
    [
      "the apiserver answers no question about rights",
      { auth: failure("kubectl: Error from server (NotFound)") },
      [
        "warning: it is not known whether this user may create a token of ServiceAccounts: kubectl: Error from server (NotFound)",
      ],
    ],
    ["the account cannot be read → not decided", { get: failure("kubectl: forbidden") }, []],
    [
      "no kubectl",
      { version: failure("kubectl: it is not installed") },
      ["warning: the cluster cannot be checked: kubectl: it is not installed"],
    ],
  ])("%s", async (_, answers, checks) => {
    expect((await found(answers)).checks).toEqual(checks);
  });
});
