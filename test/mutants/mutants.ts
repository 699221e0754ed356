// Every defence of docs/threat-model.md that can be taken out of a source.
import type { Mutant } from "./mutant.ts";
import { cloneMutants } from "./table/clones.ts";
import { clusterTokenMutants } from "./table/cluster-token.ts";
import { connectMutants } from "./table/connect.ts";
import { decisionMutants } from "./table/decisions.ts";
import { enrolmentMutants } from "./table/enrolment.ts";
import { feedMutants } from "./table/feed.ts";
import { freshnessMutants } from "./table/freshness.ts";
import { gatewayMutants } from "./table/gateways.ts";
import { lendingMutants } from "./table/lending.ts";
import { limitMutants } from "./table/limits.ts";
import { notificationMutants } from "./table/notifications.ts";
import { packageMutants } from "./table/packages.ts";
import { pageMutants } from "./table/page.ts";
import { proxyMutants } from "./table/proxies.ts";
import { readinessMutants } from "./table/readiness.ts";
import { requestMutants } from "./table/requests.ts";
import { rightsMutants } from "./table/rights.ts";
import { rolloutMutants } from "./table/rollouts.ts";
import { sessionMutants } from "./table/sessions.ts";
import { shimSocketMutants } from "./table/shim-sockets.ts";

export const mutants: readonly Mutant[] = [
  ...requestMutants,
  ...enrolmentMutants,
  ...freshnessMutants,
  ...cloneMutants,
  ...limitMutants,
  ...rightsMutants,
  ...rolloutMutants,
  ...sessionMutants,
  ...feedMutants,
  ...gatewayMutants,
  ...lendingMutants,
  ...notificationMutants,
  ...packageMutants,
  ...pageMutants,
  ...connectMutants,
  ...decisionMutants,
  ...clusterTokenMutants,
  ...proxyMutants,
  ...shimSocketMutants,
  ...readinessMutants,
];
