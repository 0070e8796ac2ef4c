// Package harness measures actor runtimes side by side: what a subject has to offer, the workloads, the worker that runs
// them in a process of its own, the driver that starts the workers and interleaves their rounds, and the report.
//
// A subject is a Framework: a name and a function that opens a System. What a System can do it says by the small
// interfaces of subject.go that it implements; a workload whose interface is missing is reported as absent. All loops
// that send are inside the subjects, so a workload pays no interface call of the harness per message.
//
//	subject.go    what a subject implements
//	sink.go       how arrived work is counted
//	workloads.go  the rows, and how much work each is
//	measure.go, measure_life.go, measure_blocked.go  one function a workload
//	meter.go      allocations, memory, processor time
//	worker.go     the worker process
//	proc.go, usage.go, driver.go  the driver
//	report.go, columns.go, markdown.go, ratio.go  the results
package harness
