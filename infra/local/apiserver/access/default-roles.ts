// The cluster roles and bindings that every cluster has, as far as this server's users need them. Data only.
// Source: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go.

interface DefaultRole {
  /** Of the role and of its binding. */
  name: string;
  groups: string[];
  rules: { verbs: string[]; apiGroups?: string[]; resources?: string[]; nonResourceURLs?: string[] }[];
}

const health = ["/healthz", "/livez", "/readyz", "/version", "/version/"];

export const defaultRoles: DefaultRole[] = [
  {
    name: "cluster-admin",
    groups: ["system:masters"],
    rules: [
      { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
      { verbs: ["*"], nonResourceURLs: ["*"] },
    ],
  },
  {
    name: "system:discovery",
    groups: ["system:authenticated"],
    rules: [
      {
        verbs: ["get"],
        nonResourceURLs: ["/api", "/api/*", "/apis", "/apis/*", ...health, "/openapi", "/openapi/*"],
      },
    ],
  },
  {
    name: "system:public-info-viewer",
    groups: ["system:authenticated", "system:unauthenticated"],
    rules: [{ verbs: ["get"], nonResourceURLs: health }],
  },
];
