package servertest

import "syscall"

// orphan ends the server when the test's process is gone, however that ended.
func orphan(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
