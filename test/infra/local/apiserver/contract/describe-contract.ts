// Runs all cases of the contract, which the embedded apiserver and a real kube-apiserver answer alike. Contains no
// test.
import { afterAll, beforeAll, describe, test } from "vitest";
import type { StartedServer } from "../aged-server.ts";
import { access } from "./access.ts";
import { applying } from "./apply.ts";
import { runCase } from "./case.ts";
import { listing } from "./list.ts";
import { managedFields } from "./managed-fields.ts";
import { metadataRules } from "./metadata.ts";
import { nodeRules } from "./node-rules.ts";
import { eventRules } from "./event-rules.ts";
import { objectRules } from "./object-rules.ts";
import { bodies } from "./bodies.ts";
import { options } from "./options.ts";
import { updateRules } from "./update-rules.ts";
import { deleteRules } from "./delete-rules.ts";
import { conformance } from "./conformance.ts";
import { collections } from "./collections.ts";
import { eventGroups } from "./event-groups.ts";
import { pagingLists } from "./paging.ts";
import { watching } from "./watch.ts";
import { discovering } from "./discovery.ts";
import { tables } from "./table.ts";
import { creating } from "./creating.ts";
import { updating } from "./updating.ts";
import { patching } from "./patching.ts";
import { deleting } from "./deleting.ts";
import { reading } from "./reading.ts";
import { tokens } from "./tokens.ts";

const areas = {
  creating,
  updating,
  patching,
  deleting,
  reading,
  tokens,
  metadata: metadataRules,
  nodes: nodeRules,
  events: eventRules,
  "event-groups": eventGroups,
  objects: objectRules,
  bodies,
  options,
  updates: updateRules,
  deletes: deleteRules,
  collections,
  conformance,
  access,
  "managed-fields": managedFields,
  apply: applying,
  list: listing,
  paging: pagingLists,
  watch: watching,
  table: tables,
  discovery: discovering,
};

/** Runs all cases on the server that `start` starts. Each case has objects of its own. */
export function describeContract(start: () => Promise<StartedServer>): void {
  let running: StartedServer;
  beforeAll(async () => {
    running = await start();
  });
  afterAll(() => running?.stop());

  // The areas run concurrently, because some cases have to wait.
  describe.concurrent.each(Object.entries(areas))("%s", (area, cases) => {
    test.each(cases.map((each, index) => ({ ...each, name: `${area}-${index}` })))(
      "$situation",
      { concurrent: false },
      async (each) => {
        await runCase(running.server, each, each.name);
      },
    );
  });
}
