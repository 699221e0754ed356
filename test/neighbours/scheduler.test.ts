// kube-scheduler, and what else places pods: karpenter, the descheduler.
import { describeExperiments } from "./describe-experiment.ts";

describeExperiments(["scheduler", "karpenter", "descheduler"]);
