// What the embedded apiserver and a real kube-apiserver answer alike. The real one runs when KUBEBUILDER_ASSETS names
// a folder with etcd and kube-apiserver.
import { afterAll, beforeAll, describe, test } from "vitest";
import { candidates, type StartedCandidate, startTimeoutMs } from "./candidates.ts";
import { access } from "./contract/access.ts";
import { applying } from "./contract/apply.ts";
import { runCase } from "./contract/case.ts";
import { listing } from "./contract/list.ts";
import { managedFields } from "./contract/managed-fields.ts";
import { metadataRules } from "./contract/metadata.ts";
import { nodeRules } from "./contract/node-rules.ts";
import { eventRules } from "./contract/event-rules.ts";
import { objectRules } from "./contract/object-rules.ts";
import { bodies } from "./contract/bodies.ts";
import { options } from "./contract/options.ts";
import { updateRules } from "./contract/update-rules.ts";
import { deleteRules } from "./contract/delete-rules.ts";
import { conformance } from "./contract/conformance.ts";
import { collections } from "./contract/collections.ts";
import { eventGroups } from "./contract/event-groups.ts";
import { pagingLists } from "./contract/paging.ts";
import { watching } from "./contract/watch.ts";
import { discovering } from "./contract/discovery.ts";
import { tables } from "./contract/table.ts";
import { creating } from "./contract/creating.ts";
import { updating } from "./contract/updating.ts";
import { patching } from "./contract/patching.ts";
import { deleting } from "./contract/deleting.ts";
import { reading } from "./contract/reading.ts";
import { tokens } from "./contract/tokens.ts";

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

describe.concurrent.each(candidates)("$title", ({ start }) => {
  let running: StartedCandidate;
  beforeAll(async () => {
    running = await start();
  }, startTimeoutMs);
  afterAll(async () => await running.stop(), startTimeoutMs);

  // Each case has objects of its own; some wait for what only time brings.
  describe.each(Object.entries(areas))("%s", (area, cases) => {
    test.each(cases.map((each, index) => ({ ...each, name: `${area}-${index}` })))(
      "$situation",
      { concurrent: false },
      async (each) => {
        await runCase(running.server, each, each.name);
      },
    );
  });
});
