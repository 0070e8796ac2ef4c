// Package redisstream connects actors to Redis Streams: publish with confirmation, and consume in a group with
// acknowledgement after handling.
//
// Spawn the actor that New makes, and tell or ask it Publish, Subscribe and Unsubscribe. A publish is confirmed when the
// server has appended the entry. It carries an id in a field of the entry, by which a consumer recognises what had to be
// sent again. A consumer first takes back what its name had been given and did not acknowledge, then reads what is new,
// and takes over what a consumer that is gone has left.
//
// docs/redis-streams.md has the guarantees, the settings and the outcomes in tables.
package redisstream
