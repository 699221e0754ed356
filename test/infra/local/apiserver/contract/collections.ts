// Lists deletions of all selected objects that the embedded and a real apiserver must answer alike.
import { expect } from "vitest";
import { send } from "../test-server.ts";
import { accounts, type Case, leases, made, namespaces } from "./case.ts";

function labelled(name: string, label: string) {
  return { metadata: { name, labels: { case: label } }, spec: {} };
}

async function namesAt(server: Parameters<typeof send>[0], path: string): Promise<unknown> {
  const { text } = await send(server, { path });
  return JSON.parse(text).items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
}

export const collections: Case[] = [
  {
    situation: "what a label selects goes, the rest stays, and the answer lists what went",
    run: async (server, name) => {
      const own = `${namespaces}/${name}/serviceaccounts`;
      await send(server, made(namespaces, { metadata: { name } }));
      for (const [each, label] of [
        ["a", "x"],
        ["b", "y"],
        ["c", "x"],
      ] as const)
        expect(await send(server, made(own, labelled(each, label)))).toMatchObject({ code: 201 });
      const deleted = await send(server, { method: "DELETE", path: `${own}?labelSelector=case=x` });
      expect(deleted).toMatchObject({
        code: 200,
        body: {
          kind: "ServiceAccountList",
          items: [{ metadata: { name: "a" } }, { metadata: { name: "c" } }],
        },
      });
      expect(await namesAt(server, own)).toEqual(["b"]);
      await send(server, { method: "DELETE", path: own });
      expect(await namesAt(server, own)).toEqual([]);
    },
  },
  {
    situation: "nothing to delete: an empty list",
    request: (name) => ({ method: "DELETE", path: `${leases}?labelSelector=case=${name}` }),
    outcome: () => ({ code: 200, body: { kind: "LeaseList", items: [] } }),
  },
  {
    situation: "a dry run deletes nothing",
    run: async (server, name) => {
      await send(server, made(leases, labelled(name, name)));
      const path = `${leases}?labelSelector=case=${name}`;
      expect(await send(server, { method: "DELETE", path: `${path}&dryRun=All` })).toMatchObject({
        code: 200,
      });
      expect(await namesAt(server, path)).toEqual([name]);
    },
  },
  {
    situation: "what has a finalizer stays, marked",
    run: async (server, name) => {
      const finalizers = ["example.com/hold"];
      const metadata = { name, labels: { case: name }, finalizers };
      expect(await send(server, made(accounts, { metadata }))).toMatchObject({ code: 201 });
      await send(server, { method: "DELETE", path: `${accounts}?labelSelector=case=${name}` });
      const { body } = await send(server, { path: `${accounts}/${name}` });
      expect(body.metadata).toMatchObject({ deletionTimestamp: expect.any(String), finalizers });
      const patch = { metadata: { finalizers: null } };
      await send(server, { method: "PATCH", path: `${accounts}/${name}`, type: "merge", body: patch });
    },
  },
  {
    situation: "namespaces go one by one only → 405",
    request: (name) => ({ method: "DELETE", path: `${namespaces}?labelSelector=case=${name}` }),
    outcome: () => ({ code: 405, body: { reason: "MethodNotAllowed" } }),
  },
  {
    situation: "a selector that cannot be understood → 400",
    request: () => ({ method: "DELETE", path: `${leases}?labelSelector=a%20b` }),
    outcome: () => ({ code: 400, body: { reason: "BadRequest" } }),
  },
];
