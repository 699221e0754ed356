// Runs the experiments with programs that place pods: kube-scheduler, karpenter, the descheduler.
import { describeExperiments } from "./describe-experiment.ts";

describeExperiments(["scheduler", "karpenter", "descheduler"]);
