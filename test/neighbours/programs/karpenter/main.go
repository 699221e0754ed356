// Reads a list of Nodes from standard input, and prints how many of six pods that are spread by zone Karpenter places.
// Its own cluster state and provisioner decide, with the instance types of its fake cloud provider.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/fake"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/test"
)

const replicas = 6

func main() {
	nodes := corev1.NodeList{}
	must(json.NewDecoder(os.Stdin).Decode(&nodes))
	ctx := test.Options().ToContext(context.Background())
	provider := fake.NewCloudProvider()
	kube := clientOf(nodes)
	cluster := state.NewCluster(clock.RealClock{}, kube, provider)
	for i := range nodes.Items {
		must(cluster.UpdateNode(ctx, nodes.Items[i].DeepCopy()))
	}
	provisioner := provisioning.NewProvisioner(kube, test.NewEventRecorder(), provider, cluster, clock.RealClock{})
	results, err := provisioner.Schedule(ctx)
	must(err)
	placed := 0
	for _, claim := range results.NewNodeClaims {
		placed += len(claim.Pods)
	}
	onOurs := 0
	for _, node := range results.ExistingNodes {
		placed += len(node.Pods)
		if _, ok := node.Labels()["rollcall.dev/machine"]; ok {
			onOurs += len(node.Pods)
		}
	}
	must(json.NewEncoder(os.Stdout).Encode(map[string]int{"replicas": replicas, "placed": placed, "onOurs": onOurs}))
}

// The apiserver's objects as Karpenter reads them: Nodes, a NodePool, and pending pods.
func clientOf(nodes corev1.NodeList) client.Client {
	objects := []client.Object{test.NodePool()}
	for i := range nodes.Items {
		objects = append(objects, &nodes.Items[i])
	}
	for i := range replicas {
		objects = append(objects, pod(i))
	}
	return fakeclient.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string {
			return []string{o.(*corev1.Pod).Spec.NodeName}
		}).
		WithIndex(&corev1.Node{}, "spec.providerID", func(o client.Object) []string {
			return []string{o.(*corev1.Node).Spec.ProviderID}
		}).
		WithIndex(&v1.NodeClaim{}, "status.providerID", func(o client.Object) []string {
			return []string{o.(*v1.NodeClaim).Status.ProviderID}
		}).
		Build()
}

// A pod that kube-scheduler has found no place for.
func pod(index int) *corev1.Pod {
	labels := map[string]string{"app": "spread"}
	name := fmt.Sprintf("spread-%d", index)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Labels: labels},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "main",
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
				},
			}},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
				MaxSkew:           1,
				TopologyKey:       corev1.LabelTopologyZone,
				WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector:     &metav1.LabelSelector{MatchLabels: labels},
			}},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type:   corev1.PodScheduled,
			Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable,
		}}},
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
