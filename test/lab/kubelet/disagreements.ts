// Lists the configurations that the shim and a kubelet judge differently, with the reason: a table of
// docs/configuration.md.

export interface Disagreement {
  what: string;
  kubelet: string;
  shim: string;
  why: string;
  /** The names of the configurations in configurations.ts. */
  configurations: readonly string[];
}

export const DISAGREEMENTS: readonly Disagreement[] = [
  {
    what: "an unknown field of `KubeletConfiguration`",
    kubelet: "a warning in its log",
    shim: "refused, with the nearest valid name",
    why: "a mistyped setting has no effect, on a machine that is rarely visited",
    configurations: [
      "maxPod: 20",
      "MaxPods: 20",
      "registerWithTaints: [{ key: a, efect: NoSchedule }]",
      "authentication: { webhook: { enabled: false }, anonymos: { enabled: false } }",
    ],
  },
  {
    what: "a duplicate taint, or a taint without an effect, in a file",
    kubelet: "accepted; the apiserver then refuses its Node",
    shim: "refused",
    why: "the machine's operator sees the fault and can correct it",
    configurations: [
      "registerWithTaints: [{ key: a }]",
      "registerWithTaints: [{ key: a, effect: NoSchedule }, { key: a, effect: NoSchedule }]",
    ],
  },
  {
    what: "a host name that is not a valid Node name",
    kubelet: "accepted; the apiserver then refuses its Node",
    shim: "refused",
    why: "the machine's operator sees the fault and can correct it",
    configurations: [
      "--hostname-override=edge_1",
      "--hostname-override=a..b",
      `--hostname-override=${"a".repeat(64)}`,
    ],
  },
  {
    what: "a `--node-ip` that is not an address",
    kubelet: "ignored",
    shim: "refused",
    why: "the Node would have another address than the configured one",
    configurations: ["--node-ip=nowhere", "--node-ip=192.0.2.7,nowhere", "--node-ip=fe80::1%eth0"],
  },
  {
    what: "durations and `nodeLeaseDurationSeconds` beyond [their bounds](#what-it-decides); `evictionPressureTransitionPeriod` below 0 or over 24h",
    kubelet: "accepted",
    shim: "refused",
    why: "rollcall limits the load of a machine on the apiserver",
    configurations: [
      "nodeStatusUpdateFrequency: -10s",
      "nodeStatusUpdateFrequency: 500ms",
      "nodeStatusUpdateFrequency: 2h",
      "nodeStatusUpdateFrequency: 1h30m",
      "nodeStatusReportFrequency: 48h",
      "nodeLeaseDurationSeconds: 3601",
      "evictionPressureTransitionPeriod: -1m",
      "evictionPressureTransitionPeriod: 25h",
    ],
  },
  {
    what: "more than 64 taints, a provider ID of more than 1024 characters",
    kubelet: "accepted",
    shim: "refused",
    why: "rollcall limits the size of a machine's facts",
    configurations: [
      `providerID: ${"p".repeat(1025)}`,
      `registerWithTaints: [${Array.from({ length: 65 }, (_, at) => `{ key: k${at}, effect: NoSchedule }`).join(", ")}]`,
    ],
  },
  {
    what: "more PIDs reserved than the machine can have",
    kubelet: "accepted; it does not compare PIDs, unlike other reservations",
    shim: "refused",
    why: "one rule applies to all reservations",
    configurations: ['systemReserved: { pid: "99999999999" }'],
  },
  {
    what: "a flag with underscores, such as `max_pods` for `max-pods`",
    kubelet: "accepted",
    shim: "refused",
    why: "each flag has one name",
    configurations: ["--max_pods=20"],
  },
  {
    what: "a flag of a kubelet that is not in the tables above, such as those for feature gates and verbosity",
    kubelet: "accepted",
    shim: "refused",
    why: "a command line is written for one program; the fields of a file serve both",
    configurations: ["--feature-gates=NodeSwap=true", "--v=3"],
  },
  {
    what: 'no `containerRuntimeEndpoint`, or `""`',
    kubelet: "ends if no runtime answers at its default socket",
    shim: "accepted",
    why: "a machine needs [no container runtime](#the-container-runtime)",
    configurations: ['containerRuntimeEndpoint: ""', "containerRuntimeEndpoint: null"],
  },
  {
    what: "flags of older kubelets, and rollcall's own values",
    kubelet: "refused",
    shim: "accepted",
    why: "they have the same effect as in older kubelets",
    configurations: [
      "--cloud-provider=aws",
      "--container-runtime=remote",
      "--keep-terminated-pod-volumes",
      "--register-schedulable=false",
    ],
  },
  {
    what: "files that only a kubelet reads, such as `authentication.x509.clientCAFile`",
    kubelet: "ends if they are missing",
    shim: "accepted",
    why: "the shim has no server",
    configurations: ["authentication: { x509: { clientCAFile: /nowhere } }"],
  },
  {
    what: "`memoryManagerPolicy: Static`, whose `reservedMemory` must fit the machine's NUMA nodes",
    kubelet: "ends if it does not fit",
    shim: "accepted",
    why: "the shim gives no memory to pods",
    configurations: ["memoryManagerPolicy: Static"],
  },
];
