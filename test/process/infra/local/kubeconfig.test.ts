// Tests a kubeconfig whose user authenticates with the output of a program, or with a file's token.
import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadCredentials } from "../../../../infra/local/apiserver/certificates.ts";
import { readKubeconfig } from "../../../../infra/local/kubeconfig.ts";
import { temporaryFolder } from "../../../e2e/local-cluster.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());

/** Sends two requests with a kubeconfig. Returns the Authorization headers that the apiserver got. */
async function headersOf(user: string): Promise<(string | undefined)[]> {
  const seen: (string | undefined)[] = [];
  const { certificate: cert, key } = await loadCredentials(folder.path);
  const server = createServer({ cert, key }, ({ headers }, response) => {
    seen.push(headers.authorization);
    response.end("{}");
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const file = join(folder.path, "config");
  writeFileSync(
    file,
    `clusters: [{name: c, cluster: {server: 'https://127.0.0.1:${port}', certificate-authority: ca.crt}}]
contexts: [{name: k, context: {cluster: c, user: u}}]
users: [{name: u, user: ${user}}]
current-context: k
`,
  );
  const { admin } = readKubeconfig(file);
  for (let request = 0; request < 2; request++) await admin({ method: "GET", path: "/api" });
  server.close();
  return seen;
}

test("the user's credentials → go with every request, and the program runs again for each", async () => {
  const program = join(folder.path, "token.sh");
  // Each credential has expired when it arrives, so that the program runs for each request.
  writeFileSync(
    program,
    `#!/bin/sh
n=$(cat ${program}.n 2>/dev/null); echo "$n+" > ${program}.n
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t'$n'","expirationTimestamp":"2020-01-01T00:00:00Z"}}'
`,
    { mode: 0o755 },
  );
  const exec = `{exec: {apiVersion: client.authentication.k8s.io/v1, command: ${program}, interactiveMode: Never}}`;
  expect(await headersOf(exec)).toEqual(["Bearer t", "Bearer t+"]);
});

test("tokenFile, beside the kubeconfig → its token, and not the one in the kubeconfig", async () => {
  writeFileSync(join(folder.path, "token"), "from-file");
  expect(await headersOf("{tokenFile: token, token: inline}")).toEqual([
    "Bearer from-file",
    "Bearer from-file",
  ]);
});
