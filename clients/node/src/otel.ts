/** Spans and metrics of OpenTelemetry. The trace goes with the job, in its metadata. Needs @opentelemetry/api. */
import {
  context, metrics as metricsApi, propagation, SpanKind, SpanStatusCode, trace, type Attributes, type Meter, type Tracer,
} from '@opentelemetry/api'
import type { Hooks } from './hooks.js'
import { Outcome } from './outcome.js'
import type { Run } from './run.js'

const NAME = 'turnstile-client'

/** Metadata for enqueue, with the trace that is under way. */
export function withContext<M extends object>(metadata?: M): M & Record<string, string> {
  const carrier: Record<string, string> = {}
  propagation.inject(context.active(), carrier)
  return { ...metadata, ...carrier } as M & Record<string, string>
}

/** A span for each run. Its parent is the span that has enqueued the job. */
export function tracing({ tracer = trace.getTracer(NAME) }: { tracer?: Tracer } = {}): Hooks {
  return {
    async around(run, handler) {
      const parent = propagation.extract(context.active(), carrierOf(run))
      const attributes = { ...about(run), 'messaging.message.id': run.job.id, 'turnstile.attempt': run.job.attempt }
      const span = tracer.startSpan(`process ${run.job.kind}`, { kind: SpanKind.CONSUMER, attributes }, parent)
      try {
        return await context.with(trace.setSpan(parent, span), handler)
      } catch (error) {
        if (!(error instanceof Outcome)) {
          span.recordException(error instanceof Error ? error : String(error))
          span.setStatus({ code: SpanStatusCode.ERROR })
        }
        throw error
      } finally {
        span.end()
      }
    },
  }
}

/** How long handlers take, by queue, kind and what has become of the run. */
export function metrics({ meter = metricsApi.getMeter(NAME) }: { meter?: Meter } = {}): Hooks {
  const durations = meter.createHistogram('messaging.process.duration', { unit: 's', description: 'How long handlers take' })
  return {
    ended: (run, { verb }, milliseconds) => durations.record(milliseconds / 1000, { ...about(run), 'turnstile.end': verb }),
  }
}

const about = ({ job }: Run): Attributes => ({
  'messaging.system': 'turnstile',
  'messaging.operation.type': 'process',
  'messaging.destination.name': job.queue,
  'turnstile.kind': job.kind,
})

function carrierOf(run: Run): Record<string, unknown> {
  const { metadata } = run
  return typeof metadata === 'object' && metadata !== null ? metadata : {}
}
