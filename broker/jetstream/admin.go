package jetstream

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	natsgo "github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
)

// ensureStream makes sure that the stream is there as configured. It changes nothing that is not configured.
func ensureStream(ctx context.Context, api js.JetStream, c *StreamConfig) error {
	for try := 0; ; try++ {
		err := ensureStreamOnce(ctx, api, c)
		if try == 0 && errors.Is(err, js.ErrStreamNameAlreadyInUse) {
			continue // somebody else made it meanwhile, with other settings
		}
		if err != nil {
			return explain(fmt.Errorf("jetstream: stream %s: %w", c.Name, err))
		}
		return nil
	}
}

// explain says in words what the server says by not answering.
func explain(err error) error {
	if errors.Is(err, natsgo.ErrNoResponders) || errors.Is(err, js.ErrJetStreamNotEnabled) {
		return fmt.Errorf("%w: JetStream does not answer; is it enabled on the server, and for this account and domain?", err)
	}
	return err
}

func ensureStreamOnce(ctx context.Context, api js.JetStream, c *StreamConfig) error {
	stream, err := api.Stream(ctx, c.Name)
	if errors.Is(err, js.ErrStreamNotFound) && c.Create {
		_, err = api.CreateStream(ctx, c.over(js.StreamConfig{Name: c.Name}))
		return err
	}
	if err != nil || !c.Create {
		return err
	}
	have := stream.CachedInfo().Config
	if want := c.over(have); !reflect.DeepEqual(want, have) {
		_, err = api.UpdateStream(ctx, want)
	}
	return err
}

// over writes the settings that are set over those of a stream.
func (c *StreamConfig) over(s js.StreamConfig) js.StreamConfig {
	set(&s.Subjects, c.Subjects, len(c.Subjects) > 0)
	set(&s.MaxMsgs, c.MaxMessages, c.MaxMessages > 0)
	set(&s.MaxBytes, int64(c.MaxBytes), c.MaxBytes > 0)
	set(&s.MaxAge, c.MaxAge, c.MaxAge > 0)
	set(&s.Duplicates, c.DuplicateWindow, c.DuplicateWindow > 0)
	set(&s.Replicas, c.Replicas, c.Replicas > 0)
	set(&s.Retention, map[Retention]js.RetentionPolicy{
		Limits: js.LimitsPolicy, Interest: js.InterestPolicy, WorkQueue: js.WorkQueuePolicy,
	}[c.Retention], c.Retention != "")
	set(&s.Storage, map[Storage]js.StorageType{File: js.FileStorage, Memory: js.MemoryStorage}[c.Storage], c.Storage != "")
	set(&s.Discard, map[Discard]js.DiscardPolicy{DiscardOld: js.DiscardOld, DiscardNew: js.DiscardNew}[c.Discard], c.Discard != "")
	return s
}

func set[T any](to *T, value T, on bool) {
	if on {
		*to = value
	}
}

// ensureConsumer makes sure that the consumer is there as configured, and can be used the way we use it.
func ensureConsumer(ctx context.Context, api js.JetStream, stream string, c *ConsumerConfig) (*js.ConsumerInfo, error) {
	for try := 0; ; try++ {
		info, err := ensureConsumerOnce(ctx, api, stream, c)
		if try == 0 && errors.Is(err, js.ErrConsumerExists) {
			continue // somebody else made it meanwhile, with other settings
		}
		if err != nil {
			return nil, explain(fmt.Errorf("jetstream: consumer %s of stream %s: %w", c.Name, stream, err))
		}
		return info, nil
	}
}

func ensureConsumerOnce(ctx context.Context, api js.JetStream, stream string, c *ConsumerConfig) (*js.ConsumerInfo, error) {
	consumer, err := api.Consumer(ctx, stream, c.Name)
	if errors.Is(err, js.ErrConsumerNotFound) && c.Create {
		consumer, err = api.CreateConsumer(ctx, stream, c.over(js.ConsumerConfig{Durable: c.Name, AckPolicy: js.AckExplicitPolicy}))
	} else if err == nil && c.Create {
		have := consumer.CachedInfo().Config
		if want := c.over(have); !reflect.DeepEqual(want, have) {
			consumer, err = api.UpdateConsumer(ctx, stream, want)
		}
	}
	if err != nil {
		return nil, err
	}
	info := consumer.CachedInfo()
	if info.Config.AckPolicy != js.AckExplicitPolicy {
		return nil, fmt.Errorf("has the acknowledgement policy %s; right would be explicit, or messages count as handled that were not",
			info.Config.AckPolicy)
	}
	return info, nil
}

// over writes the settings that are set over those of a consumer.
func (c *ConsumerConfig) over(s js.ConsumerConfig) js.ConsumerConfig {
	switch len(c.FilterSubjects) {
	case 0:
	case 1: // servers before 2.10 know only this form
		s.FilterSubject, s.FilterSubjects = c.FilterSubjects[0], nil
	default:
		s.FilterSubject, s.FilterSubjects = "", c.FilterSubjects
	}
	set(&s.DeliverPolicy, map[Deliver]js.DeliverPolicy{
		DeliverAll: js.DeliverAllPolicy, DeliverLast: js.DeliverLastPolicy, DeliverNew: js.DeliverNewPolicy,
		DeliverLastPerSubject: js.DeliverLastPerSubjectPolicy,
	}[c.Deliver], c.Deliver != "")
	if c.StartSequence > 0 {
		s.DeliverPolicy, s.OptStartSeq = js.DeliverByStartSequencePolicy, c.StartSequence
	}
	if !c.StartTime.IsZero() {
		start := c.StartTime
		s.DeliverPolicy, s.OptStartTime = js.DeliverByStartTimePolicy, &start
	}
	set(&s.AckWait, c.AckWait, c.AckWait > 0)
	set(&s.MaxDeliver, c.MaxDeliver, c.MaxDeliver > 0)
	set(&s.MaxAckPending, c.MaxAckPending, c.MaxAckPending > 0)
	set(&s.Replicas, c.Replicas, c.Replicas > 0)
	return s
}
