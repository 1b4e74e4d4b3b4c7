// SPDX-License-Identifier: GPL-2.0
// The two functions of the kernel's simulated interrupts (CONFIG_IRQ_SIM) that i2c-relay.c calls, for a kernel without them.
// These interrupts can be requested and never fire, which is all that i2c-relay.c needs.

#include <linux/irq.h>
#include <linux/irq_sim.h>
#include <linux/irqdomain.h>

static int silent_map(struct irq_domain *domain, unsigned int number, irq_hw_number_t hardware_number)
{
	irq_set_chip_and_handler(number, &dummy_irq_chip, handle_simple_irq);
	return 0;
}

static const struct irq_domain_ops silent_operations = { .map = silent_map };

struct irq_domain *irq_domain_create_sim(struct fwnode_handle *node, unsigned int count)
{
	struct irq_domain *domain = irq_domain_create_linear(node, count, &silent_operations, NULL);

	return domain ? domain : ERR_PTR(-ENOMEM);
}

void irq_domain_remove_sim(struct irq_domain *domain)
{
	irq_domain_remove(domain);
}
