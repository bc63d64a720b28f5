import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SpanStatusCode, trace } from '@opentelemetry/api'
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { discard, enqueue } from 'turnstile-client'
import { metrics, tracing, withContext } from 'turnstile-client/otel'
import { states, until, withDatabase } from './support.js'

test('the trace goes with the job, and runs are counted', withDatabase(async ({ db, work }) => {
  const spans = new InMemorySpanExporter()
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] })
  provider.register()
  const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const meters = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 60_000 })] })
  let active
  work(
    {
      good: () => { active = trace.getActiveSpan()?.spanContext() },
      bad: () => { throw new Error('bad') },
      discarded: () => { throw discard('no') },
    },
    { hooks: [{ log() {} }, tracing(), metrics({ meter: meters.getMeter('test') })] },
  )
  const tracer = trace.getTracer('test')
  let own
  await tracer.startActiveSpan('own', async (span) => {
    own = span.spanContext()
    await enqueue(db, 'good', {}, { metadata: withContext({ more: 1 }) })
    span.end()
  })
  await enqueue(db, 'bad', {}, { maxAttempts: 1, metadata: ['odd'] })
  await enqueue(db, 'discarded')
  await until(async () => (await states(db)).completed === 1 && (await states(db)).discarded === 2)
  await until(() => spans.getFinishedSpans().length === 4)
  const found = Object.fromEntries(spans.getFinishedSpans().map((span) => [span.name, span]))
  assert.equal(found['process good'].spanContext().traceId, own.traceId)
  assert.equal(found['process good'].parentSpanContext.spanId, own.spanId)
  assert.equal(active.spanId, found['process good'].spanContext().spanId)
  assert.equal(found['process bad'].status.code, SpanStatusCode.ERROR)
  assert.equal(found['process discarded'].status.code, SpanStatusCode.UNSET)
  await meters.forceFlush()
  const [{ scopeMetrics: [{ metrics: [histogram] }] }] = measured.getMetrics()
  const ends = histogram.dataPoints.map(({ attributes }) => [attributes['turnstile.kind'], attributes['turnstile.end']])
  assert.deepEqual(ends.sort(), [['bad', 'fail'], ['discarded', 'discard'], ['good', 'complete']])
  await meters.shutdown()
  await provider.shutdown()
}))
