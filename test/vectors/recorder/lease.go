// Runs the controller of a Node's lease in simulated time.
package main

import (
	"context"
	"fmt"
	"reflect"
	"unsafe"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/component-helpers/apimachinery/lease"
	kubeletutil "k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/utils/clock/testing"
)

//go:linkname syncLease k8s.io/component-helpers/apimachinery/lease.(*controller).sync
func syncLease(controller unsafe.Pointer, ctx context.Context)

//go:linkname newLease k8s.io/component-helpers/apimachinery/lease.(*controller).newLease
func newLease(controller unsafe.Pointer, base *coordinationv1.Lease) (*coordinationv1.Lease, error)

func init() { families["lease"] = inBubble(leases) }

// leaseRun has the controller of a case, and all that the controller uses.
type leaseRun struct {
	api        *server
	now        *testing.FakeClock
	controller lease.Controller
	failures   int
	nodeUID    any
	name       string
}

func newLeaseRun(given object, start any) *leaseRun {
	run := &leaseRun{api: newServer(), now: testing.NewFakeClock(instant(start))}
	run.nodeUID, run.name = given["nodeUID"], given["leaseName"].(string)
	if run.nodeUID != nil {
		run.createNode()
	}
	client := run.api.client()
	run.controller = lease.NewController(
		run.now,
		client,
		given["holderIdentity"].(string),
		int32(given["leaseDurationSeconds"].(float64)),
		func() { run.failures++ },
		0,
		run.name,
		given["leaseNamespace"].(string),
		kubeletutil.SetNodeOwnerFunc(context.Background(), client, run.name),
	)
	return run
}

func (r *leaseRun) createNode() {
	uid := r.nodeUID
	if uid == nil {
		uid = "node-uid-1"
	}
	r.api.put("nodes", "Node", "v1", object{"metadata": object{"name": r.name, "uid": uid}})
}

func (r *leaseRun) edit(what any) {
	key := "leases/" + r.name
	switch what {
	case "bump":
		if stored := r.api.objects[key]; stored != nil {
			r.api.bump(stored)
		}
	case "delete":
		delete(r.api.objects, key)
	case "deleteNode":
		delete(r.api.objects, "nodes/"+r.name)
	case "createNode":
		r.createNode()
	case nil:
	default:
		panic(fmt.Sprint("no edit is named ", what))
	}
}

func leases(given object) any {
	steps, isSequence := given["steps"].([]any)
	if !isSequence {
		run := newLeaseRun(given, given["now"])
		made, err := newLease(reflect.ValueOf(run.controller).UnsafePointer(), as[*coordinationv1.Lease](given["base"]))
		return object{"lease": made, "error": errorText(err), "calls": run.api.takeCalls()}
	}
	run := newLeaseRun(given, given["start"])
	if given["existingLease"] != nil {
		run.api.put("leases", "Lease", "coordination.k8s.io/v1", given["existingLease"])
	}
	all := []any{}
	for _, each := range steps {
		step := each.(object)
		run.now.Step(milliseconds(step["advanceMs"]))
		run.edit(step["edit"])
		run.api.outcomes, run.failures = step["outcomes"].([]any), 0
		syncLease(reflect.ValueOf(run.controller).UnsafePointer(), context.Background())
		all = append(all, object{
			"calls":                     run.api.takeCalls(),
			"sleepsMs":                  run.api.takeSleeps(),
			"repeatedHeartbeatFailures": run.failures,
			"latestLease":               latest(run.controller),
		})
	}
	return object{"steps": all}
}

func latest(controller lease.Controller) any {
	known := *unexported[*coordinationv1.Lease](controller, "latestLease")
	if known == nil {
		return nil
	}
	return object{"resourceVersion": known.ResourceVersion, "renewTime": known.Spec.RenewTime}
}
