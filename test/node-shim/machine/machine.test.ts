// Tests the settings in a report that result from flags and configuration, and the commands that show these settings.
// Each test runs in this process.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { parseConfiguration } from "../../../node-shim/config/config.ts";
import { thisMachine } from "../../../node-shim/machine/machine.ts";
import { type MachineFlags, machineSettings } from "../../../node-shim/machine/settings.ts";
import { preview, printConfig, printFacts } from "../../../node-shim/cli/offline-commands.ts";
import { factsSchema } from "../../../shared/protocol/facts.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
import { DOCKER } from "../sources/docker/place.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());

function fileWith(fields: string): string {
  const file = join(folder.path, "kubelet.yaml");
  writeFileSync(file, `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${fields}`);
  return file;
}

const NAMED: MachineFlags = {
  hostnameOverride: "edge-1",
  inventory: "off",
  factsDir: join(folder.path, "facts.d"),
};

/**
 * The fields of kubelet.config.k8s.io/v1beta1 that have an effect on the Node, with the defaults of its
 * documentation.
 */
const V1BETA1 = {
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  nodeStatusUpdateFrequency: "10s",
  nodeStatusReportFrequency: "5m",
  nodeLeaseDurationSeconds: 40,
  registerNode: true,
  registerWithTaints: null,
  providerID: "",
  maxPods: 110,
  podsPerCore: 0,
  nodeStatusMaxImages: 50,
  evictionHard: {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
  },
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
  evictionPressureTransitionPeriod: "5m",
  mergeDefaultEvictionSettings: false,
  systemReserved: {},
  kubeReserved: {},
  reservedSystemCPUs: "",
  enforceNodeAllocatable: ["pods"],
  systemReservedCgroup: "",
  kubeReservedCgroup: "",
  cgroupsPerQOS: true,
  enableControllerAttachDetach: true,
  localStorageCapacityIsolation: true,
  shutdownGracePeriod: "0s",
  shutdownGracePeriodCriticalPods: "0s",
  // Unlike in upstream, null by default: the shim searches for a runtime.
  containerRuntimeEndpoint: null,
  imageServiceEndpoint: "",
  runtimeRequestTimeout: "2m",
};

describe("node-shim config", () => {
  it("no configuration → the defaults of v1beta1, and a line that says so", () => {
    const text = printConfig(NAMED);
    expect(parseYaml(text)).toEqual(V1BETA1);
    const fields = text
      .split("\n")
      .filter((line) => /^[a-z]/.test(line) && !/^(apiVersion|kind):/.test(line));
    expect(fields.filter((line) => !line.endsWith(" # default"))).toEqual([]);
  });

  it("a file and flags → each value with its source, the ignored fields, and other flags", () => {
    const config = fileWith(
      "maxPods: 20\npodsPerCore: 3\nevictionHard: {memory.available: 1Gi}\nclusterDomain: a\n",
    );
    const set = { "max-pods": ["30"] };
    const text = printConfig({
      ...NAMED,
      config,
      set,
      nodeLabels: ["a=b,kubernetes.io/hostname=other"],
      nodeIp: "10.0.0.1",
      rootDir: "/srv/kubelet/",
      keepTerminatedPodVolumes: "t",
    });
    expect(text.split("\n")).toEqual(
      expect.arrayContaining([
        "maxPods: 30 # --max-pods",
        `podsPerCore: 3 # --config ${config}`,
        `evictionHard: # --config ${config}`,
        "registerNode: true # default",
        "# --hostname-override edge-1 # --hostname-override",
        "# --node-ip 10.0.0.1 # --node-ip",
        "# --node-labels a=b,kubernetes.io/hostname=other # --node-labels",
        "# --node-labels kubernetes.io/hostname=other overrides edge-1 at registration",
        "# --container-runtime # default: by containerRuntimeEndpoint",
        "# --root-dir /srv/kubelet # --root-dir",
        "# --keep-terminated-pod-volumes true # --keep-terminated-pod-volumes",
        "# --volume-limits false # default",
        "# --device-plugins # default: not served",
        "# ignored, since nothing here depends on it: clusterDomain",
      ]),
    );
  });

  it("its output is a configuration with the same values", () => {
    const set = {
      "eviction-hard": ["memory.available<1Gi"],
      "register-with-taints": ["k=v:NoExecute"],
      "provider-id": ["a # b"],
      "kube-reserved": ["cpu=1m"],
    };
    const { active } = parseConfiguration(printConfig({ ...NAMED, set }), "printed");
    expect(active).toEqual(machineSettings({ ...NAMED, set }).active);
  });
});

it("node-shim facts → every fact with its value and source, equal to the reported facts", async () => {
  const printed = JSON.parse(
    await printFacts({ ...NAMED, set: { "pods-per-core": ["3"], "container-runtime-endpoint": [""] } }),
  ) as Record<string, Record<string, unknown>>;
  expect(printed["settings"]).toMatchObject({
    hostname: { value: "edge-1", source: "--hostname-override" },
    podsPerCore: { value: 3, source: "--pods-per-core" },
    nodeStatusUpdateFrequencyMs: { value: 10_000, source: "default" },
  });
  expect(printed["machine"]).toMatchObject({ bootID: { source: "/proc/sys/kernel/random/boot_id" } });
  expect(printed["runtime"]).toEqual({
    value: null,
    source: "configured as none, or none found",
  });
  expect(printed["inventory"]).toEqual({ value: null, source: expect.any(String) });
  expect(printed["dropIns"]).toEqual({ value: null, source: NAMED.factsDir });
  expect(printed["runningInUserNamespace"]).toEqual({ value: false, source: "/proc/self/uid_map" });
  const single = new Set(["runtime", "inventory", "dropIns", "runningInUserNamespace"]);
  const groups = Object.fromEntries(Object.entries(printed).filter(([group]) => !single.has(group)));
  const values = Object.entries(groups).map(([group, facts]) => {
    const entries = Object.entries(facts as Record<string, { value: unknown; source: string }>);
    for (const [, { source }] of entries) expect(source).toMatch(/./);
    return [group, Object.fromEntries(entries.map(([name, { value }]) => [name, value]))];
  });
  expect(factsSchema.safeParse({ ...Object.fromEntries(values), runtime: null }).error).toBeUndefined();
});

describe("flags that are no field of the configuration", () => {
  it("an unknown kind of inventory → an error that names the three", async () => {
    const made = (flags: MachineFlags) => thisMachine(flags, () => undefined);
    await expect(made({ ...NAMED, inventory: "all" })).rejects.toThrow("must be on, off or serials");
    await expect(made({ ...NAMED, inventoryLabels: true })).rejects.toThrow("--inventory-labels: needs");
  });

  it("labels of several flags → together; the last value of a key counts", () => {
    const { settings } = machineSettings({ ...NAMED, nodeLabels: ["a=1,example.com/b=2", "a=3"] });
    expect(settings.nodeLabels).toEqual({ a: "3", "example.com/b": "2" });
    expect(machineSettings(NAMED).settings).not.toHaveProperty("nodeLabels");
  });

  test.each<[situation: string, flags: MachineFlags, message: RegExp]>([
    [
      "a label of kubernetes.io that is not the kubelet's",
      { nodeLabels: ["node-role.kubernetes.io/edge="] },
      /^--node-labels: unknown 'kubernetes\.io' or 'k8s\.io' labels .*\[node-role\.kubernetes\.io\/edge\]; .*$/,
    ],
    [
      "a label's value with a blank",
      { nodeLabels: ["a=b c"] },
      /^--node-labels: invalid node labels: 'b c' - .*$/,
    ],
    [
      "a host name that is too long for a label",
      { hostnameOverride: "a".repeat(64) },
      /^"a+" is .*--hostname-override$/,
    ],
    [
      "a switch that is neither on nor off",
      { keepTerminatedPodVolumes: "maybe" },
      /^--keep-terminated-pod-volumes: "maybe" is neither true nor false$/,
    ],
    ["a malformed address", { nodeIp: "10.0.0" }, /^--node-ip 10\.0\.0: must be an IP address/],
    ["an unknown runtime", { containerRuntime: "podman" }, /^--container-runtime podman: must be remote/],
    [
      "Docker's socket without Docker",
      { dockerEndpoint: "unix:///run/docker.sock" },
      /^--docker-endpoint: needs --container-runtime docker$/,
    ],
    [
      "Docker without a socket",
      { containerRuntime: "docker", dockerEndpoint: "tcp://127.0.0.1:2375" },
      /^--docker-endpoint tcp:\/\/127\.0\.0\.1:2375: must be a socket's path/,
    ],
    ["no folder", { rootDir: "" }, /^--root-dir: must name a folder$/],
    [
      "two addresses, one of them unspecified",
      { nodeIp: "192.0.2.7,::" },
      /^--node-ip 192\.0\.2\.7,::: of two addresses none can be 0\.0\.0\.0 or ::$/,
    ],
    [
      "two addresses of a family",
      { nodeIp: "10.0.0.1,10.0.0.2" },
      /^--node-ip .*: must be an IP address, or/,
    ],
  ])("%s → one line that names the flag", (_situation, flags, message) => {
    expect(() => machineSettings({ ...NAMED, ...flags })).toThrow(message);
  });
});

test.each([
  ["true", true],
  ["false", undefined],
  [undefined, undefined],
])("--keep-terminated-pod-volumes %s → reported as %s", (keepTerminatedPodVolumes, reported) => {
  const flags = keepTerminatedPodVolumes === undefined ? NAMED : { ...NAMED, keepTerminatedPodVolumes };
  expect(machineSettings(flags).settings.keepTerminatedPodVolumes).toBe(reported);
});

test.each([
  ["true", undefined],
  ["false", false],
  [undefined, undefined],
])("--register-schedulable %s → reported as %s", (registerSchedulable, reported) => {
  const flags = registerSchedulable === undefined ? NAMED : { ...NAMED, registerSchedulable };
  expect(machineSettings(flags).settings.registerSchedulable).toBe(reported);
});

test.each([
  ["true", true],
  ["false", undefined],
  [undefined, undefined],
])("--network-unavailable %s → reported as %s", (networkUnavailable, reported) => {
  const flags = networkUnavailable === undefined ? NAMED : { ...NAMED, networkUnavailable };
  expect(machineSettings(flags).settings.networkUnavailable).toBe(reported);
});

describe("at the start", () => {
  const warnings = async (config: string, flags: MachineFlags = {}) => {
    const said: string[] = [];
    const machine = await thisMachine({ ...NAMED, config: fileWith(config), ...flags }, (source, message) =>
      said.push(`${source}: ${message}`),
    );
    await machine.setUp();
    return said;
  };

  it("fields without effect here → logged once", async () => {
    expect(await warnings("clusterDomain: a\nrunOnce: false\n")).toEqual([
      "configuration: ignored, since nothing here depends on it: clusterDomain, runOnce",
    ]);
    expect(await warnings("maxPods: 3\n")).toEqual([]);
  });

  it("a file of pinned keys that cannot be used → logged before the first question, and in `config`", async () => {
    const flags = { questionsFrom: "/no/such/keys" };
    const fault = "pinned keys: no operator may ask this machine: /no/such/keys cannot be read (ENOENT)";
    expect(await warnings("", flags)).toEqual([fault]);
    expect(printConfig({ ...NAMED, ...flags })).toContain(`# ${fault}\n`);
  });

  test.each([
    [
      "more memory than the machine has",
      "kubeReserved: {memory: 1Ei}",
      /^invalid Node Allocatable configuration\. .*"memory"/,
    ],
    ["more PIDs than the machine has", "systemReserved: {pid: 1G}", /Resource "pid"/],
    ["a CPU that the machine lacks", "reservedSystemCPUs: '70000'", /is not a subset of online-cpus/],
  ])("%s is reserved → one line", async (_situation, config, message) => {
    await expect(warnings(config)).rejects.toThrow(message);
  });
});

test.each([
  ["with --send-usage", { sendUsage: "true" }, true],
  ["without", {}, false],
  ["with --send-usage, but never with a socket", { sendUsage: "true", transport: "http" }, false],
])("a machine %s → reads its usage: %j", async (_, flags, reads) => {
  const machine = await thisMachine({ ...NAMED, ...flags }, () => undefined);
  expect(machine.readUsage !== null).toBe(reads);
});

describe("which container runtime", () => {
  const CONTAINERD = "unix:///run/containerd/containerd.sock";
  const CRIO = "unix:///run/crio/crio.sock";

  test.each<
    [
      situation: string,
      flags: MachineFlags,
      endpoint: string | null,
      from: string,
      isLookedFor: true | undefined,
    ]
  >([
    ["nothing is configured", {}, null, "default", true],
    ["null is configured", { config: "containerRuntimeEndpoint: null" }, null, "default", true],
    ["none", { set: { "container-runtime-endpoint": [""] } }, "", "--container-runtime-endpoint", undefined],
    ["none, in a file", { config: 'containerRuntimeEndpoint: ""' }, "", "--config", undefined],
    ["one", { config: `containerRuntimeEndpoint: ${CRIO}` }, CRIO, "--config", undefined],
    ["CRI", { containerRuntime: "remote" }, CONTAINERD, "--container-runtime", undefined],
    [
      "CRI, and where",
      { containerRuntime: "remote", config: `containerRuntimeEndpoint: ${CRIO}` },
      CRIO,
      "--config",
      undefined,
    ],
    ["Docker", { containerRuntime: "docker" }, null, "default", undefined],
  ])("%s", (_situation, { config, ...flags }, endpoint, from, isLookedFor) => {
    const file = config === undefined ? {} : { config: fileWith(config) };
    const { active, sources, settings } = machineSettings({ ...NAMED, ...flags, ...file });
    expect(active.containerRuntimeEndpoint).toBe(endpoint);
    expect(sources.containerRuntimeEndpoint.startsWith(from)).toBe(true);
    expect(settings.findRuntime).toBe(isLookedFor);
  });
});

describe("node-shim config, with a proxy in the environment", () => {
  const linesOf = (environment: NodeJS.ProcessEnv) => printConfig(NAMED, environment).split("\n");

  it("→ the proxy without its password, and its exceptions", () => {
    const lines = linesOf({
      https_proxy: "http://edge:Secret@proxy:3128",
      NO_PROXY: "a.example,\nb.example",
    });
    expect(lines).toEqual(
      expect.arrayContaining([
        "# https_proxy http://proxy:3128 # environment",
        "# NO_PROXY a.example, b.example # environment",
        "# --ca-file # default: public authorities",
        "# --transport auto # default",
      ]),
    );
    expect(lines.join()).not.toContain("Secret");
  });

  it("no proxy → no line; a malformed URL → refused, as by run", () => {
    expect(linesOf({ NO_PROXY: "a.example" }).join()).not.toMatch(/_PROXY/);
    expect(() => linesOf({ HTTPS_PROXY: "socks5://proxy" })).toThrow(/^HTTPS_PROXY must read /);
  });
});

describe("--container-runtime docker", () => {
  const flags = {
    ...NAMED,
    containerRuntime: "docker",
    dockerEndpoint: `unix://${DOCKER.socketPath}`,
    set: {
      "container-runtime-endpoint": ["unix:///run/crio.sock"],
      "runtime-request-timeout": [`${DOCKER.deadlineMs}ms`],
    },
  };

  it("→ its socket is shown, and that the other endpoint is not used", () => {
    const lines = printConfig(flags).split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        "# --container-runtime docker # --container-runtime",
        `# --docker-endpoint ${flags.dockerEndpoint} # --docker-endpoint`,
        "# ignored, since nothing here depends on it: containerRuntimeEndpoint",
      ]),
    );
    expect(machineSettings({ ...NAMED, containerRuntime: "docker" }).docker).toBe("/var/run/docker.sock");
  });

  it("no Docker there → a Node that is not ready because of the runtime", async () => {
    const node = parseYaml(await preview(flags)) as { status: { conditions: { type: string }[] } };
    const message = "[container runtime status check may not have completed yet, network state unknown]";
    expect(node.status.conditions.at(-1)).toMatchObject({ type: "Ready", status: "False", message });
  });
});

describe("--cloud-provider file", () => {
  const cloudMetadataFile = () => {
    const file = join(folder.path, "cloud.yaml");
    writeFileSync(file, "providerID: shop:///berlin/7\ninstanceType: nuc-11\nzone: berlin\n");
    return file;
  };
  const flags = () => ({
    ...NAMED,
    cloudProvider: "file",
    cloudMetadataFile: cloudMetadataFile(),
    set: { "container-runtime-endpoint": [""] },
  });

  it("→ facts from the file, and the source of each", async () => {
    const facts = JSON.parse(await printFacts(flags())) as Record<string, unknown>;
    const source = join(folder.path, "cloud.yaml");
    expect(facts).toMatchObject({
      settings: {
        cloudProvider: { value: "file", source: "--cloud-provider" },
        hostnameOverridden: { value: true, source: "--hostname-override" },
      },
      cloud: { providerID: { value: "shop:///berlin/7", source }, zone: { value: "berlin", source } },
    });
  });

  it("→ a Node that is in its zone", async () => {
    const node = parseYaml(await preview(flags())) as Record<string, unknown>;
    expect(node).toMatchObject({
      metadata: { labels: { "rollcall.dev/zone": "berlin" } },
      spec: { providerID: "shop:///berlin/7" },
    });
  });

  it("a missing file → no Node, and the reason", async () => {
    const missing = { ...flags(), cloudMetadataFile: join(folder.path, "none.yaml") };
    await expect(preview(missing)).rejects.toThrow("the cloud's metadata could not be read yet");
  });
});
