// Package chaosrun drives broker actors through random faults for as long as it is told to, and accounts for every
// message. It has tests only: TestFake over brokertest's fake protocol, TestJetStream, TestNats and TestRedis over real connections
// through a fault proxy. They run for a few seconds each, or for the time in TROUPE_CHAOS, and print the seed that
// TROUPE_CHAOS_SEED takes back.
//
// What has to hold, whatever happened:
//
//   - every message that was published ends once: delivered, or as one dead letter with a reason;
//   - the books of the actor balance at every moment they are looked at, and agree with that count;
//   - what was confirmed is at the other side, and first occurrences are in the order of each publisher;
//   - what is at the source is handled, or given up with a dead letter, and none of it is forgotten;
//   - Connected and Disconnected alternate, and nothing is published after a stop;
//   - a stop takes its time and no more, and at the end no goroutine, socket or file is left.
package chaosrun
